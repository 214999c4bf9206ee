//! The rules engine against tables, against games of an independent implementation, and against a
//! naive reference on random games.

#[cfg(test)]
#[path = "engine/departures.rs"]
mod departures;
#[cfg(test)]
#[path = "engine/examples.rs"]
mod examples;
#[cfg(test)]
#[path = "engine/handed_games.rs"]
mod handed_games;
#[cfg(test)]
#[path = "engine/naive.rs"]
mod naive;
#[cfg(test)]
#[path = "engine/notation.rs"]
mod notation;
#[cfg(test)]
#[path = "engine/outlook.rs"]
mod outlook;
#[cfg(test)]
#[path = "engine/perft.rs"]
mod perft;
#[cfg(test)]
#[path = "engine/random.rs"]
mod random;
#[cfg(test)]
#[path = "engine/random_games.rs"]
mod random_games;
#[cfg(test)]
#[path = "engine/setups.rs"]
mod setups;
#[cfg(test)]
#[path = "engine/snapshots.rs"]
mod snapshots;
