//! The text form of records: what is written, what is read, and what is refused where.

use mancala_server::engine::{Action, Record, Rules, RulesRequest, Seat, Variant};

use crate::random::Random;

fn read(text: &str) -> Record {
    text.parse().unwrap()
}

#[test]
fn a_record_is_written_turn_by_turn_with_the_options_that_apply() {
    let rules = Rules::effective(Variant::Kalah, 2, &RulesRequest::default()).unwrap();
    let [zero, one, ..] = Seat::ALL;
    let sow = |seat, pit| (seat, Action::Move { pit });
    let events = vec![
        sow(zero, 2),
        sow(zero, 5),
        (one, Action::Leave),
        sow(one, 1),
        sow(one, 5),
        (one, Action::Return),
        (zero, Action::Resign),
    ];
    let record = Record { rules, starter: zero, ranked: false, events };
    let text = "[kalah players=2 pits=6 stones=4 capture_empty=false starter=0 ranked=false]\n\
                c-f L1 b-f B1 R0\n";
    assert_eq!(record.to_string(), text);
    assert_eq!(read(text), record);
}

#[test]
fn each_game_names_its_own_options() {
    for header in [
        "[kalah players=4 pits=4 stones=3 capture_from=all capture_empty=true starter=3 ranked=false]\n",
        "[kalah players=3 pits=6 stones=4 capture_from=opposite capture_empty=false starter=0 ranked=true]\n",
        "[basic players=3 pits=6 stones=5 full_ranking=false starter=1 ranked=false]\n",
        "[basic players=2 pits=7 stones=6 starter=1 ranked=true]\n",
    ] {
        assert_eq!(read(header).to_string(), header);
    }
}

#[test]
fn an_event_may_split_a_turn() {
    let text = "[kalah players=2 pits=6 stones=4 capture_empty=false starter=0 ranked=false]\n\
                c L1 f b\n";
    assert_eq!(read(text).to_string(), text);
}

#[test]
fn reading_is_lenient_about_space_order_and_defaults() {
    let plain = read("[kalah players=2 starter=0]\nc-f b");
    assert_eq!(read("\n  [ kalah  starter=0   players=2 ] \r\n\r\n\t c f\n  b \n"), plain);
    assert_eq!(plain.events.len(), 3);
    // What does not apply is ignored and what is not allowed replaced, as everywhere.
    let three = read("[kalah players=3 pits=7 full_ranking=true starter=0]");
    assert_eq!((three.rules.pits(), three.rules.full_ranking()), (6, None));
}

#[test]
fn what_is_no_record_is_refused_with_its_place() {
    for (text, error) in [
        ("", "line 1, column 1: expected a first line in brackets"),
        ("c-f", "line 1, column 1: expected a first line in brackets"),
        ("\n  [kalah", "line 2, column 3: expected a first line in brackets"),
        ("[]", "line 1, column 1: expected a first line in brackets"),
        ("[oware players=2 starter=0]", "line 1, column 2: unknown variant"),
        ("[kalah players=2 pit=6 starter=0]", "line 1, column 18: unknown option"),
        ("[kalah players starter=0]", "line 1, column 8: unknown option"),
        ("[kalah players=2 starter=0 starter=0]", "line 1, column 28: option starter is repeated"),
        ("[kalah starter=0]", "line 1, column 1: option players is missing"),
        ("[kalah players=2]", "line 1, column 1: option starter is missing"),
        ("[kalah players=two starter=0]", "line 1, column 8: option players cannot"),
        ("[kalah players=2 starter=2]", "line 1, column 18: option starter cannot"),
        ("[kalah players=2 starter=4]", "line 1, column 18: option starter cannot"),
        ("[kalah players=2 starter=0 ranked=yes]", "line 1, column 28: option ranked cannot"),
        ("[kalah players=5 starter=0]", "line 1, column 1: players must be"),
        ("[kalah players=2 pits=5 starter=0]", "line 1, column 1: 5 pits"),
        ("[kalah players=2 starter=0]\nh", "line 2, column 1: expected pits"),
        ("[kalah players=2 starter=0]\nc-", "line 2, column 3: expected pits"),
        ("[kalah players=2 starter=0]\nc-ff", "line 2, column 3: expected pits"),
        ("[kalah players=2 starter=0]\nC", "line 2, column 1: expected pits"),
        ("[kalah players=2 starter=0]\nR4", "line 2, column 1: expected pits"),
        ("[kalah players=2 starter=0]\nR", "line 2, column 1: expected pits"),
        ("[kalah players=2 starter=0]\n  R0-c", "line 2, column 3: expected pits"),
        ("[kalah players=2 starter=0]\né é", "line 2, column 1: expected pits"),
        ("[kalah players=2 starter=0]\nR3", "line 2, column 1: seat 3 does not exist"),
        (
            "[kalah players=2 starter=0]\nc-g",
            "line 2, column 3: there is no such pit: a side has pits 0 to 5",
        ),
        ("[kalah players=2 starter=0]\nc c", "line 2, column 3: pit 2 is empty"),
        ("[kalah players=2 starter=0]\nc-f-b", "line 2, column 5: the sowing before"),
        ("[kalah players=2 starter=0]\nR0 R1", "line 2, column 4: the game is over"),
        ("[kalah players=2 starter=0]\nR0\nc", "line 3, column 1: the game is over"),
    ] {
        let found = text.parse::<Record>().unwrap_err().to_string();
        assert!(found.starts_with(error), "{text:?}: {found}");
    }
}

#[test]
fn no_text_makes_reading_panic() {
    let pieces = [
        "[",
        "]",
        "kalah",
        "basic",
        " ",
        "\n",
        "\r",
        "\t",
        "=",
        "players=2",
        "players=3",
        "starter=0",
        "ranked=",
        "pits=255",
        "stones=-1",
        "a",
        "b",
        "c",
        "d",
        "e",
        "f",
        "g",
        "h",
        "-",
        "R0",
        "L1",
        "B1",
        "R",
        "é",
        "\u{3000}",
        "\0",
        "\u{feff}",
        "9",
        "[kalah players=2 starter=0]\n",
        "[basic players=4 starter=3 pits=4]\n",
    ];
    let mut random = Random::new(7);
    for _ in 0..20_000 {
        let length = random.below(30);
        let mut text = String::new();
        if random.chance(2) {
            text.push_str("[basic players=3 starter=1]\n");
        }
        for _ in 0..length {
            text.push_str(random.pick(&pieces));
        }
        if let Ok(record) = text.parse::<Record>() {
            assert_eq!(read(&record.to_string()), record);
        }
    }
    let long = "c-".repeat(32 * 1024);
    assert!(long.parse::<Record>().is_err());
    assert!(format!("[kalah players=2 starter=0]\n{long}").parse::<Record>().is_err());
    let words = "players=2 ".repeat(6_000);
    assert!(format!("[kalah {words}]").parse::<Record>().is_err());
}
