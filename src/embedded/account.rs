//! The user that the programs of PostgreSQL run as: root may not, so its children run as somebody else.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::unistd::{Gid, Uid, User, geteuid};

use super::EmbeddedError;

/// The user the child processes run as when we are root, which PostgreSQL refuses to be.
#[derive(Debug, Clone)]
pub(super) struct Account {
    name: String,
    uid: Uid,
    gid: Gid,
}

impl Account {
    /// None when we are not root: the children then run as we do.
    pub(super) fn choose(data: &Path) -> Result<Option<Self>, EmbeddedError> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        // An existing cluster stays with its owner, even if a user `postgres` has appeared since.
        if let Ok(metadata) = fs::metadata(data)
            && metadata.uid() != 0
        {
            let uid = Uid::from_raw(metadata.uid());
            return Ok(Some(Self {
                name: User::from_uid(uid).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name),
                uid,
                gid: Gid::from_raw(metadata.gid()),
            }));
        }
        ["postgres", "nobody"]
            .into_iter()
            .find_map(|name| User::from_name(name).ok().flatten())
            .map(|user| Some(Self { name: user.name, uid: user.uid, gid: user.gid }))
            .ok_or(EmbeddedError::NoAccount)
    }

    /// Makes `command` run as this user. The standard library drops our supplementary groups with it.
    pub(super) fn apply(&self, command: &mut Command) {
        command.uid(self.uid.as_raw()).gid(self.gid.as_raw());
    }

    pub(super) fn own(&self, folder: &Path) -> Result<(), EmbeddedError> {
        chown(folder, Some(self.uid.as_raw()), Some(self.gid.as_raw()))
            .map_err(EmbeddedError::file("change the owner of", folder))
    }

    /// Whether this user may enter `folder` and all above it, which has to be an absolute path without
    /// links. Checked beforehand because PostgreSQL's own complaint names the wrong folder.
    pub(super) fn check_reaches(&self, folder: &Path) -> Result<(), EmbeddedError> {
        let mut from_the_top: Vec<_> = folder.ancestors().collect();
        from_the_top.reverse();
        for ancestor in from_the_top {
            let metadata = fs::metadata(ancestor).map_err(EmbeddedError::file("examine", ancestor))?;
            let entry = if metadata.uid() == self.uid.as_raw() {
                0o100
            } else if metadata.gid() == self.gid.as_raw() {
                0o010
            } else {
                0o001
            };
            if metadata.mode() & entry == 0 {
                return Err(EmbeddedError::Unreachable {
                    folder: ancestor.to_path_buf(),
                    account: self.name.clone(),
                });
            }
        }
        Ok(())
    }
}
