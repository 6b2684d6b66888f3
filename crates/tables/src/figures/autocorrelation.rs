//! The autocorrelation of a series at every lag, by its spectrum. Written here, by additions, products and square roots alone: they have the
//! same last bits on every machine, and a library that chooses its steps by the processor has not.

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
    let roots = roots_of_unity(size);
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

/// exp(-2 pi i k / size) for each k below size / 2, where size is a power of two: the first quarter from the roots of half as many by the
/// formulas of half angles, the second by a quarter turn. Each halving adds some units in the last place.
fn roots_of_unity(size: usize) -> Vec<Complex> {
    let one = Complex { re: 1.0, im: 0.0 };
    let mut roots = vec![one];
    let mut number = 2;
    while number < size {
        number *= 2;
        let quarter = number / 4;
        let before = core::mem::replace(&mut roots, Vec::with_capacity(number / 2));
        let half = |at: usize| {
            let twice: Complex = before[at];
            // The larger part first, where nothing cancels.
            let larger = f64::midpoint(1.0, twice.re.abs()).sqrt();
            let smaller = -twice.im / (2.0 * larger);
            let [re, sine] = if twice.re >= 0.0 {
                [larger, smaller]
            } else {
                [smaller, larger]
            };
            Complex { re, im: -sine }
        };
        roots.extend((0..quarter).map(half));
        // A quarter turn further on.
        for at in 0..quarter {
            let first = roots[at];
            roots.push(Complex {
                re: first.im,
                im: -first.re,
            });
        }
    }
    roots
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
    fn roots_of_unity_are_cosines_and_sines() {
        for size in [2, 4, 8, 1 << 20] {
            let roots = roots_of_unity(size);
            assert_eq!(roots.len(), size / 2);
            for (number, root) in roots.into_iter().enumerate() {
                let angle = core::f64::consts::TAU * number as f64 / size as f64;
                assert!((root.re - angle.cos()).abs() < 4e-15, "{number} of {size}");
                assert!((root.im + angle.sin()).abs() < 4e-15, "{number} of {size}");
            }
        }
    }

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
