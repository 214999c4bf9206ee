//! Repeatable chance: a tiny generator, random rules, random choices.

use mancala_server::engine::{CaptureFrom, Rules, RulesRequest, Variant};

/// The xorshift generator of Marsaglia, scrambled by a multiplication.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(high).unwrap() % limit
    }

    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    pub fn rules(&mut self) -> Rules {
        let asked = RulesRequest {
            pits: Some(self.pick(&[4, 6, 7])),
            stones: Some(self.pick(&[3, 4, 5, 6])),
            capture_from: Some(self.pick(&CaptureFrom::ALL)),
            capture_empty: Some(self.pick(&[false, true])),
            full_ranking: Some(self.pick(&[false, true])),
        };
        Rules::effective(self.pick(&Variant::ALL), self.pick(&[2, 3, 4]), &asked).unwrap()
    }
}
