//! Types are read by their lists of fields as serde's derived readers read them, and what is wrong is named with its place.

use bentpipe_reading::{Entries, read_struct, read_tagged, read_variants, read_words};
use serde_json::from_str;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Down,
    Up,
}
read_words!(Way { "down" => Down, "up" => Up });

#[derive(Debug, PartialEq)]
enum Rate {
    Fair,
    Fixed(u64),
}
read_variants!(Rate { "fair" => Fair, "fixed" => Fixed(bit_s) });

#[derive(Debug, PartialEq)]
struct Call {
    name: String,
}
read_struct!(Call { name });

#[derive(Debug, PartialEq)]
enum Work {
    Idle,
    Ping { count: u32, every: Option<f64> },
    Call(Call),
}
read_tagged!(Work, "kind", Self::Idle, {
    "idle" => Idle {},
    "ping" => Ping { count, every },
    "call" => Call(Call),
});

#[derive(Debug, PartialEq)]
struct Host {
    memory: [u8; 2],
    sack: bool,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            memory: [1, 2],
            sack: true,
        }
    }
}
read_struct!(Host default { memory, sack });

#[derive(Debug, PartialEq)]
struct Run {
    host: Host,
    seed: i64,
    way: Way,
    rate: Rate,
    works: Vec<Work>,
    end: Option<u16>,
    parameters: Entries<f64>,
}
read_struct!(Run {
    host = default,
    seed,
    way,
    rate,
    works,
    end,
    parameters = default,
});

const LEAST: &str = r#""seed": -5, "way": "up", "rate": "fair", "works": []"#;

#[test]
fn what_is_absent_and_may_be_is_as_in_the_default() {
    let run: Run = from_str(&format!("{{{LEAST}}}")).unwrap();
    assert_eq!(run.host, Host::default());
    assert_eq!(
        (run.seed, run.way, run.rate, run.end),
        (-5, Way::Up, Rate::Fair, None)
    );
    assert!(run.works.is_empty() && run.parameters.is_empty());
    let host: Host = from_str(r#"{ "sack": false }"#).unwrap();
    assert_eq!((host.memory, host.sack), ([1, 2], false));
}

#[test]
fn every_shape_is_read() {
    let run: Run = from_str(
        r#"{ "host": { "memory": [3, 4] }, "seed": 1, "way": "down", "rate": { "fixed": 9 }, "end": 7, "works": [
            { "kind": "idle" }, { "count": 3, "kind": "ping", "every": 2 }, { "kind": "call", "name": "a" }
        ], "parameters": { "b": 1e-3, "a": 2 } }"#,
    )
    .unwrap();
    assert_eq!(run.host.memory, [3, 4]);
    assert_eq!(
        (run.way, run.rate, run.end),
        (Way::Down, Rate::Fixed(9), Some(7))
    );
    let ping = Work::Ping {
        count: 3,
        every: Some(2.0),
    };
    let call = Work::Call(Call { name: "a".into() });
    assert_eq!(run.works, [Work::Idle, ping, call]);
    let parameters: Vec<_> = run.parameters.iter().collect();
    assert_eq!(parameters, [("a", &2.0), ("b", &0.001)]);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let refused = |changed: &str| {
        let text = format!("{{{LEAST}, {changed}}}");
        from_str::<Run>(&text).unwrap_err().to_string()
    };
    for (changed, error) in [
        (
            r#""end": 70000"#,
            "end: expected a whole number from 0 to 65535, got 70000",
        ),
        (
            r#""end": -1"#,
            "end: expected a whole number from 0 to 65535, got -1",
        ),
        (
            r#""end": 0.5"#,
            "end: expected a whole number from 0 to 65535, got 0.5",
        ),
        (
            r#""host": { "sack": "yes" }"#,
            "host.sack: expected true or false, got \"yes\"",
        ),
        (
            r#""host": { "memory": [1] }"#,
            "host.memory: expected a list of 2, got a list",
        ),
        (
            r#""host": { "memory": [1, null] }"#,
            "host.memory.1: expected a whole number from 0 to 255, got nothing",
        ),
        (
            r#""host": { "sock": 1 }"#,
            "host: unknown field `sock`, expected one of `memory`, `sack`",
        ),
        (r#""host": 3"#, "host: expected a table, got 3"),
        (
            r#""parameters": { "x": "y" }"#,
            "parameters.x: expected a number, got \"y\"",
        ),
        (r#""seed": 1"#, "duplicate field `seed`"),
    ] {
        assert_eq!(refused(changed), error);
    }
    let works = |work: &str| {
        let text = format!(r#"{{ "seed": 1, "way": "up", "rate": "fair", "works": [{work}] }}"#);
        from_str::<Run>(&text).unwrap_err().to_string()
    };
    for (work, error) in [
        (r#"{ "count": 1 }"#, "works.0: missing field `kind`"),
        (
            r#"{ "kind": "pong" }"#,
            "works.0.kind: expected one of `idle`, `ping`, `call`, got \"pong\"",
        ),
        (r#"{ "kind": "ping" }"#, "works.0: missing field `count`"),
        (
            r#"{ "kind": "idle", "x": 1 }"#,
            "works.0: unknown field `x`, there are no fields",
        ),
        (
            r#"{ "kind": "call", "name": "a", "x": 1 }"#,
            "works.0: unknown field `x`, expected one of `name`",
        ),
    ] {
        assert_eq!(works(work), error);
    }
    let rate = from_str::<Rate>(r#"{ "fixed": "x" }"#).unwrap_err();
    assert!(
        rate.to_string()
            .starts_with("fixed: expected a whole number")
    );
    let way = from_str::<Way>("\"side\"").unwrap_err();
    assert_eq!(
        way.to_string(),
        "expected one of `down`, `up`, got \"side\""
    );
}
