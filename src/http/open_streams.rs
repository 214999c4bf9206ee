//! How many streams are open, by player and by network.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::http::problem::{Failure, ProblemCode};
use crate::ids::PlayerId;

/// For one player: a few devices with a few games each.
const OF_PLAYER: u32 = 20;
/// For one network: a whole school may be behind it.
const OF_NETWORK: u32 = 500;
/// When to try again, in seconds: a stream whose reader is gone is closed within half a minute.
const TRY_AGAIN: u64 = 5;

/// The open streams of a process.
#[derive(Default)]
pub struct OpenStreams {
    of_players: Counted<PlayerId>,
    of_networks: Counted<IpAddr>,
}

/// How many there are, and how many there may be.
struct Counted<K> {
    most: u32,
    open: Mutex<HashMap<K, u32>>,
}

impl<K> Default for Counted<K> {
    fn default() -> Self {
        Self { most: u32::MAX, open: Mutex::default() }
    }
}

/// The place of one stream, until it is dropped.
pub struct Slot {
    streams: Arc<OpenStreams>,
    player: Option<PlayerId>,
    network: Option<IpAddr>,
}

impl OpenStreams {
    /// None open yet; limited by network, by player, by both or not at all.
    pub fn new(by_network: bool, by_player: bool) -> Self {
        let mut streams = Self::default();
        if by_network {
            streams.of_networks.most = OF_NETWORK;
        }
        if by_player {
            streams.of_players.most = OF_PLAYER;
        }
        streams
    }

    /// One more.
    ///
    /// # Errors
    /// `too_many_streams`.
    pub fn open(
        self: &Arc<Self>,
        player: Option<PlayerId>,
        network: Option<IpAddr>,
    ) -> Result<Slot, Failure> {
        // Filled as it goes, so that what has been counted is given back if the next is too much.
        let mut slot = Slot { streams: self.clone(), player: None, network: None };
        if let Some(player) = player {
            self.of_players.add(player)?;
            slot.player = Some(player);
        }
        if let Some(network) = network {
            self.of_networks.add(network)?;
            slot.network = Some(network);
        }
        Ok(slot)
    }
}

impl<K: Hash + Eq> Counted<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, u32>> {
        self.open.lock().expect("nobody panics while holding it")
    }

    fn add(&self, key: K) -> Result<(), Failure> {
        let mut open = self.lock();
        let count = open.entry(key).or_insert(0);
        if *count >= self.most {
            let detail = format!("at most {} streams may be open at once; close another first", self.most);
            return Err(Failure::new(ProblemCode::TooManyStreams, detail).retry_after(TRY_AGAIN));
        }
        *count += 1;
        Ok(())
    }

    fn remove(&self, key: &K) {
        let mut open = self.lock();
        if let Some(count) = open.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                open.remove(key);
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(player) = &self.player {
            self.streams.of_players.remove(player);
        }
        if let Some(network) = &self.network {
            self.streams.of_networks.remove(network);
        }
    }
}
