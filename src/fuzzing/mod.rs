//! For tests: tries parsers with what they might get from strangers, made from good texts by small changes, so that many
//! get past the first check. Always the same ones, a fixed number of them; `PROPTEST_CASES` asks for more, and
//! `PROPTEST_RNG_SEED` for others. What fails is made smaller before it is told.

mod changes;

use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

use changes::changed;

/// How many inputs a parser is tried with, if the environment does not say.
const CASES: u32 = 2_000;

fn runner(cases: u32) -> TestRunner {
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(7);
    }
    TestRunner::new(config)
}

/// Tries a parser with changed forms of `seeds`, which it has to accept as they are; `parses` says whether it accepts
/// a text, and panics when it does something else that it should not.
pub fn fuzz(seeds: &[&str], parses: impl Fn(&[u8]) -> bool) {
    fuzz_times(CASES, seeds, parses);
}

/// The same with another number of inputs.
pub fn fuzz_times(cases: u32, seeds: &[&str], parses: impl Fn(&[u8]) -> bool) {
    for seed in seeds {
        assert!(parses(seed.as_bytes()), "a seed is good: {seed:?}");
    }
    let tried = runner(cases).run(&changed(seeds), |text| {
        parses(&text);
        Ok::<(), TestCaseError>(())
    });
    if let Err(failed) = tried {
        panic!("{failed}");
    }
}

/// The same for parsers of texts: what is no UTF-8 never gets to them.
pub fn fuzz_text(seeds: &[&str], parses: impl Fn(&str) -> bool) {
    fuzz(seeds, |bytes| parses(&String::from_utf8_lossy(bytes)));
}
