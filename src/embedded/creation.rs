//! Making the cluster: aside first and then renamed, so that an interrupted start leaves nothing half made.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use super::{Account, Durability, EmbeddedError, Home, Programs, SERVICE, SUPERUSER};

/// Makes a cluster with the service's role and database. All of it happens in a folder aside that then gets
/// its place in one step, so that an interrupted creation leaves nothing half made.
pub(super) fn create(
    home: &Home,
    programs: &Programs,
    account: Option<&Account>,
    durability: Durability,
) -> Result<(), EmbeddedError> {
    let folder = home.unfinished(account)?;
    initdb(&folder, programs, account, durability)?;
    make_database(&folder, programs, account, durability)?;
    home.install(&folder)
}

fn initdb(
    folder: &Path,
    programs: &Programs,
    account: Option<&Account>,
    durability: Durability,
) -> Result<(), EmbeddedError> {
    let mut command = programs.command("initdb", account);
    command.arg("--pgdata").arg(folder).args([
        "--username",
        SUPERUSER,
        // Who may pass into the 0700 folder with the socket may do anything with the files beside it anyway.
        "--auth-local=trust",
        "--auth-host=reject",
        "--encoding=UTF8",
        "--data-checksums",
    ]);
    if durability == Durability::None {
        command.arg("--no-sync");
    }
    // Both sort by bytes, the same on every machine. Older systems lack the first; with the second, upper
    // and lower case are known of ASCII letters only.
    let mut output = run(&mut command, "--locale=C.UTF-8")?;
    if !output.status.success() && printed(&output).contains("locale") {
        output = run(&mut command, "--locale=C")?;
    }
    expect_success("initdb", &output)
}

fn run(command: &mut std::process::Command, locale: &str) -> Result<Output, EmbeddedError> {
    let program = Path::new(command.get_program()).to_path_buf();
    // Of an option given twice the last counts.
    command.arg(locale).output().map_err(EmbeddedError::program(&program))
}

/// In single-user mode, because then no client program is needed and nobody can connect meanwhile.
fn make_database(
    folder: &Path,
    programs: &Programs,
    account: Option<&Account>,
    durability: Durability,
) -> Result<(), EmbeddedError> {
    let mut command = programs.command("postgres", account);
    // Without the setting an error in a statement would be printed and passed over.
    command.arg("--single").arg("-D").arg(folder).args(["-c", "exit_on_error=on"]);
    if durability == Durability::None {
        command.args(["-c", "fsync=off"]);
    }
    let program = programs.folder().join("postgres");
    let mut child = command
        .arg("postgres")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(EmbeddedError::program(&program))?;
    let mut stdin = child.stdin.take().expect("it was just made a pipe");
    // One statement per line. If the child is gone already, what it printed says more than this failure.
    let _ = write!(
        stdin,
        "create role {SERVICE} login nosuperuser nocreatedb nocreaterole\n\
         create database {SERVICE} owner {SERVICE}\n"
    );
    drop(stdin);
    let output = child.wait_with_output().map_err(EmbeddedError::program(&program))?;
    expect_success("postgres", &output)
}

fn expect_success(program: &'static str, output: &Output) -> Result<(), EmbeddedError> {
    if output.status.success() {
        return Ok(());
    }
    let text = printed(output);
    let text =
        if text.trim().is_empty() { format!("nothing, and ended with {}", output.status) } else { text };
    Err(EmbeddedError::Creation { program, output: text })
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
