//! Every parser of what strangers send, tried with good inputs that were changed a little: none panics, and what one
//! accepts it writes in a way that it reads again as the same.

use std::time::Duration;

use actix_web::FromRequest;
use actix_web::dev::Payload;
use actix_web::http::header::{ACCEPT, HeaderName, HeaderValue, IF_NONE_MATCH};
use actix_web::test::TestRequest;
use actix_web::web::Query;
use serde::de::DeserializeOwned;
use time::OffsetDateTime;

use super::body::{Idempotency, parse};
use super::objects::Position;
use super::records::Record;
use super::{
    Search, analysis, frame, games, groups, guests, hints, leaderboards, play, preview, ratings, sessions,
    tickets,
};
use crate::account::{
    CanonicalName, Cost, Name, Password, PersonalToken, RecoveryCode, RefreshToken, SigningKeys, Username,
};
use crate::budget::PlayerBudgets;
use crate::cpu::{Computers, Memory};
use crate::engine;
use crate::fuzzing::{fuzz, fuzz_text, fuzz_times};
use crate::ids::{GameId, PlayerId, SessionId};
use crate::pool::Pool;
use crate::proxies::TrustedProxies;
use crate::rating::Rating;
use crate::service::Mark;

const RECORDS: &[&str] = &[
    r#"{"format":"mancala-record/1","variant":"kalah","options":{"players":2,"pits":6,"stones":4},"starter":0,"events":[{"seat":0,"pit":2},{"seat":0,"pit":5},{"seat":1,"pit":0}]}"#,
    r#"{"format":"mancala-record/1","variant":"basic","options":{"players":3,"full_ranking":false},"starter":1,"ranked":true,"players":["Ana","Zoë","🎲"],"events":[{"seat":1,"pit":0},{"seat":2,"leave":true},{"seat":2,"return":true},{"seat":0,"resign":true}]}"#,
    r#"{"format":"mancala-record/1","variant":"kalah","options":{"players":2},"starter":0,"events":[{"seat":1,"resign":true}],"result":{"places":[1,2],"stores":[0,0],"end":"resigned"}}"#,
    r#"{"format":"mancala-record/1","variant":"kalah","options":{"players":4,"capture_from":"all","capture_empty":true},"starter":3,"events":[],"result":{"stores":[0,0,0,0],"end":"aborted"}}"#,
];

#[test]
fn records() {
    fuzz(RECORDS, |json| {
        let Ok(record) = parse::<Record>(json) else { return false };
        let written = serde_json::to_string(&record).unwrap();
        let again = parse::<Record>(written.as_bytes()).map_err(|failure| failure.to_string());
        assert_eq!(serde_json::to_string(&again.unwrap()).unwrap(), written);
        let replayed = record.replay(None);
        let mut trace = Vec::new();
        assert_eq!(record.replay(Some(&mut trace)).is_ok(), replayed.is_ok());
        if replayed.is_ok() {
            assert_eq!(trace.len(), record.events.len() + 1);
            let played = record.checked().unwrap();
            assert_eq!(played.to_string().parse::<engine::Record>().unwrap(), played);
        }
        replayed.is_ok()
    });
}

#[test]
fn lines_of_records() {
    let held: Vec<String> =
        RECORDS.iter().map(|record| format!(r#"{{"record":{record},"places":[1]}}"#)).collect();
    let seeds: Vec<&str> = RECORDS.iter().copied().chain(held.iter().map(String::as_str)).collect();
    fuzz_text(&seeds, |line| {
        let (good, answer) = super::replay_line(line, true);
        assert!(serde_json::from_str::<serde_json::Value>(&answer).is_ok_and(|answer| answer["ok"] == good));
        good
    });
}

#[test]
fn notation() {
    let seeds = [
        "[kalah players=2 pits=6 stones=4 capture_empty=false starter=0 ranked=false]\nc-f b\na L0 R1\n",
        "[basic players=3 pits=4 stones=3 full_ranking=true starter=2 ranked=true]\na L1 a B1 a\n",
        "\n  [ kalah  starter=0   players=2 ] \r\n\r\n\t c f\n  b \n",
    ];
    fuzz_text(&seeds, |text| {
        let Ok(record) = text.parse::<engine::Record>() else { return false };
        assert_eq!(record.to_string().parse::<engine::Record>().unwrap(), record);
        record.replay().is_ok()
    });
}

const POSITIONS: &[&str] = &[
    r#"{"variant":"kalah","options":{"players":2,"pits":6,"stones":4},"pits":[[4,4,0,5,5,5],[4,4,4,4,4,4]],"stores":[1,0],"out":[false,false],"to_move":0}"#,
    r#"{"variant":"basic","pits":[[1,0,2],[0,3,1],[2,2,2]],"stores":[0,1,0],"to_move":2}"#,
    r#"{"variant":"kalah","pits":[[0,0,1],[0,2,1]],"stores":[3,4],"to_move":1}"#,
];

#[test]
fn positions() {
    fuzz(POSITIONS, |json| {
        let Ok(position) = parse::<Position>(json).and_then(|told| told.parse("")) else { return false };
        let written = serde_json::to_string(&Position::from(&position)).unwrap();
        let again = parse::<Position>(written.as_bytes()).and_then(|told| told.parse(""));
        assert_eq!(again.map_err(|failure| failure.to_string()), Ok(position));
        for pit in position.legal() {
            assert!(position.trace(pit).is_ok());
        }
        true
    });
}

#[test]
fn lines_of_positions_to_think_about() {
    let computers = std::cell::RefCell::new(Computers::new(Memory::server(1)));
    fuzz_times(300, POSITIONS, |line| {
        let line = String::from_utf8_lossy(line);
        let search = Search::Within(Duration::ZERO);
        let (good, answer) = super::analyse_line(&line, 1, &mut computers.borrow_mut(), search);
        assert!(serde_json::from_str::<serde_json::Value>(&answer).is_ok());
        good
    });
}

/// A body that is not kept: whether it is one.
fn is<T: DeserializeOwned>(json: &[u8]) -> bool {
    parse::<T>(json).is_ok()
}

#[test]
fn bodies() {
    fuzz(&[r#"{"name":"Ana"}"#, r#"{"name":null}"#, "{}"], is::<guests::NewGuest>);
    fuzz(&[r#"{"refresh_token":"mancala_rt_3q2-7wAAAA"}"#], is::<sessions::RefreshRequest>);
    let options =
        r#"{"stones":3,"turn_seconds":60,"away_seconds":null,"stand_in":"hard","rotate_starter":false}"#;
    let game = format!(
        r#"{{"variant":"kalah","computers":["easy","hard"],"starter":"me","options":{options},"seed":9}}"#
    );
    fuzz(&[&game, r#"{"variant":"basic","computers":["easy"]}"#], is::<games::NewGame>);
    let group = format!(r#"{{"variant":"basic","private":true,"options":{options}}}"#);
    fuzz(&[&group], is::<groups::NewGroup>);
    fuzz(&[&format!(r#"{{"options":{options}}}"#)], is::<groups::GroupUpdate>);
    fuzz(&[r#"{"code":"KTRWMHNP"}"#], is::<groups::JoinRequest>);
    fuzz(&[r#"{"level":"perfect"}"#], is::<groups::NewComputer>);
    fuzz(&[r#"{"pit":5,"seq":2147483647}"#], is::<play::NewMove>);
    fuzz(&[r#"{"variant":"kalah","players":2,"turn_seconds":60,"max_gap":200}"#], is::<tickets::NewTicket>);
    let positions: Vec<String> =
        POSITIONS.iter().map(|position| format!(r#"{{"position":{position}}}"#)).collect();
    let positions: Vec<&str> = positions.iter().map(String::as_str).collect();
    fuzz(&positions, is::<preview::PreviewRequest>);
    fuzz(&positions, is::<analysis::AnalysisRequest>);
}

fn a_mark() -> Mark {
    Mark { rating: Rating::new(1_612.5), player: PlayerId::new(), rank: 7, count: 9 }
}

#[test]
fn cursors() {
    let (game, player, mark) = (GameId::new(), PlayerId::new(), a_mark());
    fuzz_text(&[&games::cursor(game.uuid())], |text| {
        let Ok(game) = games::parse_cursor::<GameId>(text) else { return false };
        assert_eq!(games::cursor(game.uuid()), text);
        true
    });
    for pool in Pool::ALL {
        fuzz_text(&[&leaderboards::cursor(pool, &mark)], |text| {
            let read = |text: &str| leaderboards::parse_cursor(text, pool).ok();
            let Some(mark) = read(text) else { return false };
            assert_eq!(read(&leaderboards::cursor(pool, &mark)), Some(mark));
            true
        });
        fuzz_text(&[&ratings::cursor(player, pool, 17)], |text| {
            let Ok(number) = ratings::parse_cursor(text, player, pool) else { return false };
            assert_eq!(ratings::cursor(player, pool, number), text);
            true
        });
    }
}

/// Whether a query is one of this kind.
fn asks<T: DeserializeOwned>(text: &str) -> bool {
    Query::<T>::from_query(text).is_ok()
}

#[test]
fn queries() {
    let id = PlayerId::new();
    let cursor = games::cursor(GameId::new().uuid());
    let list = format!("variant=kalah&status=running&cursor={cursor}");
    fuzz_text(&["after_seq=3&wait=25", "wait=0", ""], asks::<games::Waiting>);
    fuzz_text(&[&list, &format!("player={id}"), ""], asks::<games::GameQuery>);
    fuzz_text(&[&list, ""], asks::<games::PlayerGameQuery>);
    fuzz_text(&["level=perfect", ""], asks::<hints::HintQuery>);
    fuzz_text(&[&format!("cursor={cursor}"), ""], asks::<leaderboards::LeaderboardQuery>);
    fuzz_text(&[&format!("pool=kalah-2&cursor={cursor}")], asks::<ratings::HistoryQuery>);
    fuzz_text(&["wait=25", ""], asks::<tickets::TicketQuery>);
}

/// Tries a header with every value that HTTP lets through.
fn header(name: &HeaderName, seeds: &[&str], accepts: impl Fn(TestRequest) -> bool) {
    fuzz(seeds, |value| {
        HeaderValue::from_bytes(value)
            .is_ok_and(|value| accepts(TestRequest::default().insert_header((name.clone(), value))))
    });
}

#[test]
fn headers() {
    header(&IF_NONE_MATCH, &["W/\"17\"", "\"3\", W/\"17\"", "*"], |request| {
        games::matches(&request.to_http_request(), "W/\"17\"")
    });
    header(&ACCEPT, &["text/plain", "application/json;q=0.5, text/plain"], |request| {
        super::records::wants_text(&request.to_http_request())
    });
    header(&HeaderName::from_static("idempotency-key"), &["0b1c-4", "one game"], |request| {
        let key = Idempotency::from_request(&request.to_http_request(), &mut Payload::None);
        key.into_inner().is_ok()
    });
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (name, seeds) in [("x-request-id", &["my-id:42"][..]), ("traceparent", &[trace])] {
        header(&HeaderName::from_static(name), seeds, |request| {
            let id = frame::request_id(&request.to_srv_request());
            assert!((1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic()));
            true
        });
    }
}

#[test]
fn paths_in_the_log() {
    let id = GameId::new();
    fuzz_text(&[&format!("/v1/games/{id}/moves"), "/v1/leaderboards/kalah-2/me", "/docs/"], |path| {
        let told = frame::told_path(path);
        assert!(told.split('/').all(|word| word == "…" || path.split('/').any(|asked| asked == word)));
        !told.contains('…')
    });
}

#[test]
fn access_tokens() {
    let keys = SigningKeys::parse("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").unwrap();
    let others = SigningKeys::parse("BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=").unwrap();
    let now = OffsetDateTime::now_utc();
    let issue = || keys.issue(PlayerId::new(), SessionId::new(), now);
    let (one, another) = (issue(), issue());
    fuzz_text(&[&one, &another], |token| {
        assert!(others.verify(token, now).is_err());
        let good = keys.verify(token, now).is_ok();
        assert_eq!(good, token == one || token == another, "no other text is one of these tokens: {token}");
        good
    });
}

#[test]
fn refresh_tokens() {
    let token = RefreshToken::generate().into_text();
    let hash = |text: &str| RefreshToken::presented(text.to_owned()).hash();
    fuzz_text(&[&token], |text| {
        assert_eq!(hash(text) == hash(&token), text == token);
        true
    });
}

#[test]
fn signing_keys() {
    let now = OffsetDateTime::now_utc();
    let list = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=, BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=";
    fuzz_text(&[list], |list| {
        let Ok(keys) = SigningKeys::parse(list) else { return false };
        let (player, session) = (PlayerId::new(), SessionId::new());
        let read = keys.verify(&keys.issue(player, session, now), now).expect("its own token");
        assert_eq!((read.player, read.session), (player, session));
        true
    });
}

#[test]
fn names() {
    fuzz_text(&["Ana", "  Zoë 🎲 ", "李小龍", "Guest 1234"], |text| {
        let Ok(name) = Name::try_from(text) else { return false };
        assert_eq!(Name::try_from(name.as_str()), Ok(name.clone()));
        assert!((1..=Name::MAX_CHARS).contains(&name.as_str().chars().count()));
        assert!(!name.as_str().chars().any(char::is_control));
        true
    });
}

#[test]
fn usernames() {
    fuzz_text(&["ana", "Ana.Maria_7", "Ζωή-7", "李小龍李", "ＡＮＡ"], |text| {
        let canonical = CanonicalName::of(text);
        let Ok(username) = Username::try_from(text) else { return false };
        assert_eq!(username.canonical(), &canonical, "found again by what was written: {text}");
        let again = Username::try_from(username.as_str()).expect("what is kept is a username");
        assert_eq!((again.as_str(), again.canonical()), (username.as_str(), &canonical));
        assert_eq!(CanonicalName::of(canonical.as_str()), canonical);
        true
    });
}

#[test]
fn personal_tokens() {
    let token = PersonalToken::generate().into_text();
    fuzz_text(&[&token], |text| {
        let hash = PersonalToken::hash_of(text);
        assert_eq!(hash == PersonalToken::hash_of(&token), text == token);
        hash.is_some()
    });
}

#[test]
fn recovery_codes() {
    let code = RecoveryCode::generate().into_text();
    let hash = |text: &str| RecoveryCode::presented(text).hash();
    let meant = |text: &str| {
        let letters = text.replace(|c: char| c == '-' || c.is_whitespace(), "").to_ascii_lowercase();
        letters.replace('o', "0").replace(['i', 'l'], "1")
    };
    fuzz_text(&[&code], |text| {
        assert_eq!(hash(text) == hash(&code), meant(text) == meant(&code), "{text}");
        meant(text) == meant(&code)
    });
}

#[test]
fn passwords() {
    fuzz_text(&["seven pits, four stones", "семь лунок"], |text| {
        Password::presented(text).check(&["Ana", "ana"]).is_ok()
    });
}

#[test]
fn settings() {
    fuzz_text(&["m=19456,t=2,p=1"], |text| text.parse::<Cost>().is_ok());
    fuzz_text(&["sign-in=30,creating=60,playing=600,reading=1200", "off"], |text| {
        text.parse::<PlayerBudgets>().is_ok()
    });
    fuzz_text(&["10.0.0.0/8, fd00::/8", "127.0.0.1"], |text| text.parse::<TrustedProxies>().is_ok());
    let proxies: TrustedProxies = "10.0.0.0/8,fd00::/8".parse().unwrap();
    fuzz_text(&["203.0.113.9, 10.1.2.3", "[2001:db8::1]:443", "[2001:db8::2]"], |text| {
        let peer = [10, 0, 0, 1].into();
        proxies.origin(peer, text.split(',').map(str::as_bytes)) != peer
    });
}
