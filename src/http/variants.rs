//! The games and their local rules, told to players and to programs.

use actix_web::http::header::CACHE_CONTROL;
use actix_web::{HttpResponse, get};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::hints::HintCode;
use super::objects::{Level, Variant};
use crate::cpu;
use crate::texts::{self, OptionTexts, Text, VariantTexts};

/// A text in three languages.
#[derive(Serialize, ToSchema)]
pub struct Texts {
    /// English.
    pub en: &'static str,
    /// Portuguese.
    pub pt: &'static str,
    /// Spanish.
    pub es: &'static str,
}

impl From<&Text> for Texts {
    fn from(text: &Text) -> Self {
        Self { en: text.en, pt: text.pt, es: text.es }
    }
}

/// A value that a local rule can take.
#[derive(Serialize, ToSchema)]
pub struct OptionValue {
    /// The value, as it is sent.
    #[schema(value_type = Value)]
    pub value: Value,
    /// A label, where the value has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Texts>,
    /// What it means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Texts>,
}

/// A local rule.
#[derive(Serialize, ToSchema)]
pub struct OptionInfo {
    /// The field of the options.
    #[schema(example = "pits")]
    pub key: &'static str,
    /// A label.
    pub name: Texts,
    /// What it does.
    pub description: Texts,
    /// For which numbers of players it applies.
    pub players: Vec<u8>,
    /// What it can be, for each of these numbers of players.
    pub values: Vec<OptionChoice>,
    /// A range of whole numbers that are allowed besides the values listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<OptionRange>,
}

/// What a local rule can be for some numbers of players.
#[derive(Serialize, ToSchema)]
pub struct OptionChoice {
    /// For these numbers of players.
    pub players: Vec<u8>,
    /// These values.
    pub values: Vec<OptionValue>,
    /// What it is when nothing is asked.
    #[schema(value_type = Value)]
    pub default: Value,
}

/// Whole numbers from `minimum` to `maximum`.
#[derive(Serialize, ToSchema)]
pub struct OptionRange {
    /// The least.
    pub minimum: u32,
    /// The greatest.
    pub maximum: u32,
}

/// A level of the computer.
#[derive(Serialize, ToSchema)]
pub struct LevelInfo {
    /// As it is sent.
    pub level: Level,
    /// A label.
    pub name: Texts,
    /// How it plays.
    pub description: Texts,
}

/// One of the two games.
#[derive(Serialize, ToSchema)]
pub struct VariantInfo {
    /// As it is sent.
    pub variant: Variant,
    /// A label.
    pub name: Texts,
    /// One line.
    pub summary: Texts,
    /// The rules in brief.
    pub how_to_play: Vec<Texts>,
    /// Advice and facts.
    pub tips: Vec<Texts>,
    /// The numbers of players.
    pub players: Vec<u8>,
    /// The local rules that apply to it.
    pub options: Vec<OptionInfo>,
}

/// The games.
#[derive(Serialize, ToSchema)]
pub struct VariantList {
    /// Both games.
    pub items: Vec<VariantInfo>,
    /// The levels of the computer.
    pub levels: Vec<LevelInfo>,
    /// What to say for the reasons of hints.
    pub hints: Vec<HintInfo>,
}

/// How a reason of hints is put into words.
#[derive(Serialize, ToSchema)]
pub struct HintInfo {
    /// Which reason.
    pub code: HintCode,
    /// A sentence, in which {stones}, {seat}, {pit}, {margin} and {depth} stand for the numbers of the reason.
    pub text: Texts,
}

/// List the games
///
/// Both games with their local rules: values, defaults and when they apply; names, rules in brief and tips in English,
/// Portuguese and Spanish.
#[utoipa::path(tag = "positions",
    responses((status = 200, description = "The games and the levels of the computer.", body = VariantList)))]
#[get("/variants")]
pub async fn list_variants() -> HttpResponse {
    let items = vec![info(Variant::Kalah, &texts::KALAH), info(Variant::Basic, &texts::BASIC)];
    let levels = cpu::Level::ALL
        .into_iter()
        .map(|level| {
            let texts = value_texts(&format!("level.{level}"));
            LevelInfo {
                level: level.into(),
                name: Texts::from(&texts.name),
                description: Texts::from(&texts.description),
            }
        })
        .collect();
    let hints =
        HintCode::ALL.into_iter().map(|code| HintInfo { code, text: hint_text(code.key()) }).collect();
    HttpResponse::Ok().insert_header((CACHE_CONTROL, "public, max-age=3600")).json(VariantList {
        items,
        levels,
        hints,
    })
}

fn info(variant: Variant, texts: &VariantTexts) -> VariantInfo {
    VariantInfo {
        variant,
        name: (&texts.name).into(),
        summary: (&texts.summary).into(),
        how_to_play: texts.how_to_play.iter().map(Texts::from).collect(),
        tips: texts.tips.iter().map(Texts::from).collect(),
        players: vec![2, 3, 4],
        options: texts::OPTIONS.iter().filter_map(|option| option_info(variant, option)).collect(),
    }
}

/// What an option can be, by numbers of players; nothing where it does not apply to the game.
fn choices(variant: Variant, key: &str) -> Vec<(Vec<u8>, Vec<Value>, Value)> {
    let any = || vec![2, 3, 4];
    let switch = || vec![json!(true), json!(false)];
    match (key, variant) {
        ("players", _) => vec![(any(), vec![json!(2), json!(3), json!(4)], Value::Null)],
        ("pits", _) => vec![
            (vec![2], vec![json!(6), json!(7)], json!(6)),
            (vec![3, 4], vec![json!(6), json!(4)], json!(6)),
        ],
        ("stones", _) => vec![(any(), (3..=6).map(|n| json!(n)).collect(), json!(4))],
        ("capture_from", Variant::Kalah) => {
            vec![(vec![3, 4], vec![json!("next"), json!("opposite"), json!("all")], json!("next"))]
        }
        ("capture_empty", Variant::Kalah) => vec![(any(), switch(), json!(false))],
        ("full_ranking", Variant::Basic) => vec![(vec![3, 4], switch(), json!(true))],
        ("rotate_starter", _) => vec![(any(), switch(), json!(true))],
        ("turn_seconds", _) => vec![(any(), vec![Value::Null, json!(30), json!(60)], Value::Null)],
        ("away_seconds", _) => vec![(any(), vec![Value::Null], json!(300))],
        ("stand_in", _) => {
            vec![(any(), vec![json!("easy"), json!("medium"), json!("hard")], json!("medium"))]
        }
        _ => Vec::new(),
    }
}

fn option_info(variant: Variant, option: &OptionTexts) -> Option<OptionInfo> {
    let choices = choices(variant, option.key);
    if choices.is_empty() {
        return None;
    }
    let value = |value: Value| {
        let prefix = if option.key == "stand_in" { "level" } else { option.key };
        let texts = value.as_str().map(|name| value_texts(&format!("{prefix}.{name}")));
        OptionValue {
            name: texts.map(|t| (&t.name).into()),
            description: texts.map(|t| (&t.description).into()),
            value,
        }
    };
    Some(OptionInfo {
        key: option.key,
        name: (&option.name).into(),
        description: (&option.description).into(),
        players: choices.iter().flat_map(|(players, ..)| players.clone()).collect(),
        range: (option.key == "away_seconds").then_some(OptionRange { minimum: 60, maximum: 86_400 }),
        values: choices
            .into_iter()
            .map(|(players, values, default)| OptionChoice {
                players,
                values: values.into_iter().map(value).collect(),
                default,
            })
            .collect(),
    })
}

fn hint_text(key: &str) -> Texts {
    let (_, text) = texts::HINTS.iter().find(|(hint, _)| *hint == key).expect("every reason has its text");
    text.into()
}

fn value_texts(key: &str) -> &'static OptionTexts {
    texts::VALUES.iter().find(|texts| texts.key == key).expect("every named value has its texts")
}

#[cfg(test)]
mod tests {
    use super::{choices, option_info};
    use crate::http::objects::Variant;
    use crate::options::{Asked, Options};
    use crate::texts::OPTIONS;
    use serde_json::json;

    #[test]
    fn every_value_listed_is_allowed_and_taken_as_it_is() {
        for variant in [Variant::Kalah, Variant::Basic] {
            for option in OPTIONS {
                for (players, values, _) in choices(variant, option.key) {
                    for (players, value) in players.iter().flat_map(|p| values.iter().map(move |v| (*p, v))) {
                        let players = if option.key == "players" {
                            u8::try_from(value.as_u64().unwrap()).unwrap()
                        } else {
                            players
                        };
                        let asked: Asked = serde_json::from_value(json!({ option.key: value })).unwrap();
                        let options = Options::effective(variant.into(), players, &asked).unwrap();
                        let stored = serde_json::to_value(options.stored()).unwrap();
                        assert_eq!(&stored[option.key], value, "{} for {players}", option.key);
                    }
                }
            }
        }
    }

    #[test]
    fn every_default_listed_is_what_nothing_asked_gives() {
        for variant in [Variant::Kalah, Variant::Basic] {
            for option in OPTIONS.iter().filter(|o| o.key != "players") {
                for (players, _, default) in choices(variant, option.key) {
                    for players in players {
                        let options = Options::effective(variant.into(), players, &Asked::default()).unwrap();
                        let stored = serde_json::to_value(options.stored()).unwrap();
                        assert_eq!(stored[option.key], default, "{} for {players}", option.key);
                    }
                }
                assert_eq!(option_info(variant, option).is_none(), choices(variant, option.key).is_empty());
            }
        }
    }
}
