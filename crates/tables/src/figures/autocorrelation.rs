//! The autocorrelation of a series at every lag, by its spectrum. Written here and by libm's pinned version, because a
//! library that chooses its steps by the processor gives other last bits on another machine.

use core::f64::consts::TAU;

#[derive(Clone, Copy)]
struct Complex {
    re: f64,
    im: f64,
}

/// The sums of products at lags from 0 on, as many as asked for.
pub(super) fn sums_of_products(series: &[f64], lags: usize) -> Vec<f64> {
    // Padded with zeros, so that no end meets the beginning.
    let size = (2 * series.len()).next_power_of_two().max(2);
    let mut values: Vec<Complex> = series.iter().map(|&re| Complex { re, im: 0.0 }).collect();
    values.resize(size, Complex { re: 0.0, im: 0.0 });
    let roots: Vec<Complex> = (0..size / 2)
        .map(|number| {
            let angle = TAU * number as f64 / size as f64;
            Complex {
                re: libm::cos(angle),
                im: -libm::sin(angle),
            }
        })
        .collect();
    transform(&mut values, &roots);
    for value in &mut values {
        *value = Complex {
            re: value.re * value.re + value.im * value.im,
            im: 0.0,
        };
    }
    // A power spectrum is even: forwards is backwards.
    transform(&mut values, &roots);
    let products = values.into_iter().map(|value| value.re / size as f64);
    products.take(lags.min(series.len())).collect()
}

/// Radix 2, in place (Cooley and Tukey 1965). `roots` are those of unity, half a turn of them.
fn transform(values: &mut [Complex], roots: &[Complex]) {
    let size = values.len();
    let shift = usize::BITS - size.trailing_zeros();
    for from in 0..size {
        let to = from.reverse_bits() >> shift;
        if from < to {
            values.swap(from, to);
        }
    }
    let mut half = 1;
    while half < size {
        let stride = size / (2 * half);
        for block in values.chunks_exact_mut(2 * half) {
            let (lower, upper) = block.split_at_mut(half);
            for ((a, b), root) in lower
                .iter_mut()
                .zip(upper)
                .zip(roots.iter().step_by(stride))
            {
                let turned = Complex {
                    re: b.re * root.re - b.im * root.im,
                    im: b.re * root.im + b.im * root.re,
                };
                *b = Complex {
                    re: a.re - turned.re,
                    im: a.im - turned.im,
                };
                *a = Complex {
                    re: a.re + turned.re,
                    im: a.im + turned.im,
                };
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_by_the_spectrum_are_the_sums_of_products() {
        let series: Vec<f64> = (0..300).map(|it| f64::from(it * it % 71) - 30.0).collect();
        let found = sums_of_products(&series, 100);
        assert_eq!(found.len(), 100);
        for (lag, sum) in found.into_iter().enumerate() {
            let products = series.iter().zip(&series[lag..]).map(|(a, b)| a * b);
            let expected: f64 = products.sum();
            assert!((sum - expected).abs() < 1e-8, "{lag}: {sum} {expected}");
        }
    }
}
