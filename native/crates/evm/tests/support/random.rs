//! Also used by the unit tests in `src`.

/// A seeded generator (xorshift64*), so that a random test can be run again from the seed it prints.
pub struct Random(u64);

impl Random {
    /// Seeded by `TEST_SEED`, or by the clock.
    pub fn from_env() -> Self {
        let seed = std::env::var("TEST_SEED").ok().map_or_else(
            || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64,
            |text| text.parse().unwrap(),
        );
        println!("TEST_SEED={seed}");
        Self::from_seed(seed)
    }

    pub const fn from_seed(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }
}
