//! The exact values of all positions with few stones, in one byte each. Once a search gets down to them it looks up
//! instead of searching on.
//!
//! Layers go by the stones in all pits. A sowing either brings a stone into the store, which leads to a lower layer,
//! or moves stones to the right on the sower's own side, which leads to a side of lower rank; so every layer can be
//! filled in an order in which all that a position needs is there already.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use super::board::{Board, Sower, Sown, stones_in, stones_on};

/// The most stones for which there can be a layer, whatever the memory.
const MOST_LAYERS: usize = 48;

/// Values of positions with few stones under given rules.
pub struct SmallPositions {
    ranks: Ranks,
    /// By stones on the board.
    layers: Vec<Layer>,
    /// How many layers there are by now.
    filled: AtomicU8,
}

struct Layer {
    /// By stones on the side of the seat to move: where the block of those positions begins.
    blocks: [usize; MOST_LAYERS + 1],
    size: usize,
    values: OnceLock<Box<[i8]>>,
}

impl SmallPositions {
    /// Empty yet, for as many layers as `bytes` hold.
    pub fn new(pits: u8, bytes: usize) -> Self {
        let ranks = Ranks::new(pits);
        let mut room = bytes;
        let mut layers = Vec::new();
        while layers.len() <= MOST_LAYERS {
            let layer = Layer::new(&ranks, layers.len());
            let Some(left) = room.checked_sub(layer.size) else { break };
            room = left;
            layers.push(layer);
        }
        Self { ranks, layers, filled: AtomicU8::new(1) }
    }

    /// Up to how many stones all values are there.
    pub fn filled(&self) -> i32 {
        self.filled.load(Ordering::Acquire).into()
    }

    /// Up to how many stones there is room for values, of which there are then at most so many.
    pub fn within(&self, values: f64) -> i32 {
        let mut room = values;
        let fits = |layer: &&Layer| {
            room -= layer.size as f64;
            room >= 0.0
        };
        self.layers.iter().take_while(fits).count() as i32 - 1
    }

    /// The margin to come for the seat to move, own stones minus the other's, of a running game with at most
    /// [`SmallPositions::filled`] stones in its pits.
    #[inline(always)]
    pub fn margin(&self, board: Board, stones: i32) -> i32 {
        let layer = &self.layers[stones as usize];
        let values = layer.values.get().expect("only filled layers are asked");
        values[self.index(layer, board, stones as usize)].into()
    }

    #[inline(always)]
    fn index(&self, layer: &Layer, board: Board, stones: usize) -> usize {
        let own = stones_on(board.own) as usize;
        let (own_rank, other_rank) = (self.ranks.rank(board.own), self.ranks.rank(board.other));
        layer.blocks[own] + (own_rank * self.ranks.ways[stones - own] + other_rank) as usize
    }

    /// Fills the next layer; false when there is none left to fill. Several may call it at once, but their work is
    /// then done twice.
    pub fn fill_next(&self, sower: &Sower) -> bool {
        let stones = self.filled.load(Ordering::Acquire) + 1;
        let Some(layer) = self.layers.get(usize::from(stones)) else { return false };
        layer.values.get_or_init(|| self.values(sower, layer, stones));
        self.filled.fetch_max(stones, Ordering::AcqRel);
        true
    }

    fn values(&self, sower: &Sower, layer: &Layer, stones: u8) -> Box<[i8]> {
        let mut values = vec![0; layer.size].into_boxed_slice();
        for fewer in 1..=stones / 2 {
            let few = self.ranks.sides(fewer);
            let many = self.ranks.sides(stones - fewer);
            let alike = 2 * fewer == stones;
            for (rank, &a) in few.iter().enumerate() {
                // With both sides alike, pairs the other way round come in the same step.
                let partners = if alike { &many[..=rank] } else { &many[..] };
                for &b in partners {
                    for board in [Board { own: a, other: b }, Board { own: b, other: a }] {
                        let index = self.index(layer, board, stones.into());
                        values[index] = self.best(sower, layer, &values, board, stones);
                    }
                }
            }
        }
        values
    }

    fn best(&self, sower: &Sower, layer: &Layer, values: &[i8], board: Board, stones: u8) -> i8 {
        let mut best = i32::MIN;
        for pit in (0..sower.pits()).filter(|&pit| stones_in(board.own, pit) != 0) {
            let Sown { board: after, gain, extra } = sower.sow(board, pit);
            let value = if after.is_over() {
                gain + after.lead()
            } else if extra {
                gain + self.margin(after, i32::from(stones) - gain)
            } else if gain != 0 {
                gain - self.margin(after.turned(), i32::from(stones) - gain)
            } else {
                -i32::from(values[self.index(layer, after.turned(), stones.into())])
            };
            best = best.max(value);
        }
        best as i8
    }
}

impl Layer {
    fn new(ranks: &Ranks, stones: usize) -> Self {
        let mut blocks = [0; MOST_LAYERS + 1];
        let mut size = 0;
        for (own, block) in blocks.iter_mut().enumerate().take(stones).skip(1) {
            *block = size;
            size += ranks.ways[own] as usize * ranks.ways[stones - own] as usize;
        }
        Self { blocks, size, values: OnceLock::new() }
    }
}

/// Numbers the ways in which stones can lie in the pits of a side.
struct Ranks {
    pits: u8,
    /// By pit and stones up to it: what the pit adds to the rank.
    adds: Box<[[u32; 64]; 7]>,
    /// By stones: how many ways there are.
    ways: [u32; MOST_LAYERS + 1],
}

impl Ranks {
    fn new(pits: u8) -> Self {
        let count = |n, k| u32::try_from(choose(n, k)).expect("few stones in few pits");
        let mut adds = Box::new([[0; 64]; 7]);
        for (pit, adds) in adds.iter_mut().enumerate().take(usize::from(pits) - 1) {
            for (stones, add) in adds.iter_mut().enumerate().take(MOST_LAYERS + 1) {
                *add = count(stones + pit, pit + 1);
            }
        }
        let last = usize::from(pits) - 1;
        Self { pits, adds, ways: std::array::from_fn(|stones| count(stones + last, last)) }
    }

    /// The number of `side` among those with as many stones.
    #[inline(always)]
    fn rank(&self, side: u64) -> u32 {
        let mut up_to = side.wrapping_mul(0x0101_0101_0101_0101);
        let mut rank = 0;
        // What the last pit could add is the same for all sides.
        for adds in &self.adds[..6] {
            rank += adds[(up_to & 0x3f) as usize];
            up_to >>= 8;
        }
        rank
    }

    /// All sides with `stones`, by rank.
    fn sides(&self, stones: u8) -> Vec<u64> {
        let mut sides = vec![0; self.ways[usize::from(stones)] as usize];
        self.lay(stones, self.pits, 0, &mut sides);
        sides
    }

    fn lay(&self, stones: u8, pits: u8, side: u64, sides: &mut [u64]) {
        if pits == 1 {
            let side = side << 8 | u64::from(stones);
            sides[self.rank(side) as usize] = side;
        } else {
            for here in 0..=stones {
                self.lay(stones - here, pits - 1, side << 8 | u64::from(here), sides);
            }
        }
    }
}

/// `n` choose `k`, at most `u64::MAX`.
pub fn choose(n: usize, k: usize) -> u64 {
    if k > n {
        return 0;
    }
    (0..k as u64).fold(1, |product: u64, i| product.saturating_mul(n as u64 - i) / (i + 1))
}
