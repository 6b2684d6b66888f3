//! Every counter of Prometheus is the figure of its name.

use super::Standing;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where a counter stands in the JSON, if not under its own name.
const ELSEWHERE: [(&str, &str); 8] = [
    ("held_up_seconds", "/held_up_s"),
    ("starts", "/total/starts"),
    ("tun_packets_sent", "/tun/sent"),
    ("tun_packets_delivered", "/tun/delivered"),
    ("tun_packets_refused", "/tun/refused"),
    ("tun_packets_dropped", "/tun/dropped"),
    ("tun_sent_bytes", "/tun/sent_bytes"),
    ("tun_delivered_bytes", "/tun/delivered_bytes"),
];

fn counters(of: &Standing) -> BTreeMap<String, f64> {
    let text = of.prometheus();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            line.strip_prefix("bentpipe_gateway_")?
                .split_once("_total{role=\"near\"} ")
        })
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

#[test]
fn each_counter_is_the_figure_of_its_name_and_only_that() {
    let names: Vec<String> = counters(&Standing::default()).into_keys().collect();
    assert!(names.len() > 25, "{names:?}");
    for name in &names {
        let place = ELSEWHERE.iter().find(|(it, _)| it == name);
        let place = place.map_or_else(|| format!("/{name}"), |(_, place)| (*place).to_owned());
        let mut status = serde_json::to_value(Standing::default()).unwrap();
        // A figure that the status does not have is a fault.
        *status.pointer_mut(&place).expect(&place) = json!(7);
        // Of several figures a sum is none of them.
        let read: Standing = serde_json::from_value::<Standing>(status).unwrap();
        for (each, value) in counters(&read) {
            let expected = if each == *name { 7.0 } else { 0.0 };
            assert!(
                (value - expected).abs() < 1e-9,
                "{place}: {each} is {value}"
            );
        }
    }
}

#[test]
fn the_figures_of_a_user_have_their_own_series() {
    let user = |name: &str| -> Value { json!({"user": "192.0.2.1", name: 7}) };
    for (figure, series) in [
        ("connections", "user_connections_total"),
        ("datagrams_sent", "user_datagrams_sent_total"),
        ("datagrams_delivered", "user_datagrams_delivered_total"),
        ("sent_bytes", "user_sent_bytes_total"),
        ("datagram_bytes_sent", "user_sent_bytes_total"),
        ("delivered_bytes", "user_delivered_bytes_total"),
        ("datagram_bytes_delivered", "user_delivered_bytes_total"),
    ] {
        let mut status = serde_json::to_value(Standing::default()).unwrap();
        status["users"] = json!([user(figure)]);
        let text = serde_json::from_value::<Standing>(status)
            .unwrap()
            .prometheus();
        let sevens: Vec<&str> = text
            .lines()
            .filter(|line| line.ends_with("\"192.0.2.1\"} 7"))
            .collect();
        let [line] = sevens[..] else {
            panic!("{figure}: {sevens:?}")
        };
        assert!(line.contains(series), "{figure}: {line}");
    }
}
