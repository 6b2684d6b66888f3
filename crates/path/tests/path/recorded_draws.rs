//! What a seed gives, written down: a seed must mean the same in ten years and on every machine.
//!
//! All of it was worked out by a second program from the published definitions of FNV-1a, `SplitMix64`, xoshiro256++
//! and netem's tables.

use crate::common::{MS, Parcel, drain, pipe};
use bentpipe_path::config::{JitterConfig, JitterDistribution, LossConfig};
use bentpipe_path::{Nanos, PipeConfig, Time, stream};
use rand_core::Rng;

#[test]
fn a_places_generator_gives_the_recorded_draws() {
    let recorded: [(u64, &str, [u64; 3]); 4] = [
        (
            1,
            "down/channel/loss",
            [
                15_651_531_918_046_893_726,
                15_254_315_988_575_277_376,
                4_066_409_672_260_688_673,
            ],
        ),
        (
            1,
            "up/channel/loss",
            [
                12_507_312_010_922_129_276,
                11_067_135_179_830_883_877,
                16_804_134_126_200_109_916,
            ],
        ),
        (
            2,
            "down/channel/loss",
            [
                2_200_881_135_037_098_321,
                15_805_069_264_063_776_913,
                17_493_972_548_282_328_662,
            ],
        ),
        (
            0,
            "",
            [
                10_861_341_569_925_573_951,
                7_329_133_115_056_000_641,
                17_115_643_607_007_501_025,
            ],
        ),
    ];
    for (seed, place, draws) in recorded {
        let mut rng = stream(seed, place);
        let found = [rng.next_u64(), rng.next_u64(), rng.next_u64()];
        assert_eq!(found, draws, "{seed} {place}");
    }
}

/// 100 packets at once through a pipe of seed 1.
fn hundred(config: &PipeConfig) -> Vec<(Time, Parcel)> {
    let mut pipe = pipe(config);
    for id in 0..100 {
        pipe.push(Time::ZERO, Parcel::new(id, 100));
    }
    drain(&mut pipe)
}

#[test]
fn a_pipe_loses_the_recorded_packets() {
    let mut config = PipeConfig::default();
    config.channel.loss = LossConfig::Bernoulli { p: 0.1 };
    let kept: Vec<_> = hundred(&config).iter().map(|it| it.1.id).collect();
    let lost: Vec<_> = (0..100).filter(|id| !kept.contains(id)).collect();
    assert_eq!(lost, [7, 16, 17, 22, 26, 34, 55, 83, 96]);
}

#[test]
fn a_pipe_delays_by_the_recorded_jitter() {
    let of = |distribution| {
        let mut config = PipeConfig::default();
        config.propagation.delay_ns = Nanos(100 * MS);
        config.propagation.jitter = Some(JitterConfig {
            spread_ns: Nanos(10 * MS),
            distribution,
            correlation: 0.25,
            reorder: true,
        });
        let mut out = hundred(&config);
        out.sort_by_key(|it| it.1.id);
        [out[0].0.0, out[1].0.0, out[2].0.0]
    };
    assert_eq!(
        of(JitterDistribution::Uniform),
        [97_435_850, 101_909_211, 100_662_186]
    );
    assert_eq!(
        of(JitterDistribution::Normal),
        [96_726_074, 102_419_433, 100_830_078]
    );
    assert_eq!(
        of(JitterDistribution::Pareto),
        [95_567_626, 98_029_785, 97_186_279]
    );
}
