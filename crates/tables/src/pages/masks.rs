//! Words that each row has one of, the other way round: bits, and numbers of few bits, of all rows one after another.

const ROWS: usize = 64;

/// For each of these columns a bit per row, lowest first: whether it has a value. `nulls` has the columns' bits where they
/// have none.
pub(crate) fn valid<T>(rows: &[T], nulls: impl Fn(&T) -> u64, columns: &[usize]) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = columns
        .iter()
        .map(|_| Vec::with_capacity(rows.len().div_ceil(ROWS) * 8))
        .collect();
    if columns.is_empty() {
        return found;
    }
    for rows in rows.chunks(ROWS) {
        let mut square = [0; ROWS];
        for (word, row) in square.iter_mut().zip(rows) {
            *word = !nulls(row);
        }
        transpose(&mut square);
        for (found, place) in found.iter_mut().zip(columns) {
            found.extend_from_slice(&square[*place].to_le_bytes());
        }
    }
    for found in &mut found {
        found.truncate(rows.len().div_ceil(8));
    }
    found
}

/// Bit i of word k becomes bit k of word i: of ever smaller squares, those beside the diagonal change places.
fn transpose(square: &mut [u64; ROWS]) {
    let mut side = ROWS / 2;
    let mut lower = u64::MAX >> side;
    while side > 0 {
        for top in (0..ROWS).step_by(2 * side) {
            for row in top..top + side {
                let differing = (square[row] >> side ^ square[row + side]) & lower;
                square[row] ^= differing << side;
                square[row + side] ^= differing;
            }
        }
        side /= 2;
        lower ^= lower << side;
    }
}

/// In how many bits the numbers of so many texts are packed.
pub(crate) fn width(texts: usize) -> usize {
    match texts {
        0..=2 => 1,
        3..=4 => 2,
        5..=16 => 4,
        17..=256 => 8,
        257..=65_536 => 16,
        _ => 32,
    }
}

/// The rows' codes in so many bits each ([`width`]), lowest first, to a multiple of eight codes.
pub(crate) fn packed<T>(rows: &[T], code: impl Fn(&T) -> u32, width: usize) -> Vec<u8> {
    let bytes = rows.len().div_ceil(8) * width;
    let mut out = match width {
        1 => pack::<T, 8>(rows, code),
        2 => pack::<T, 4>(rows, code),
        4 => pack::<T, 2>(rows, code),
        8 => pack::<T, 1>(rows, code),
        16 => rows
            .iter()
            .flat_map(|row| (code(row) as u16).to_le_bytes())
            .collect(),
        _ => rows
            .iter()
            .flat_map(|row| code(row).to_le_bytes())
            .collect(),
    };
    out.resize(bytes, 0);
    out
}

fn pack<T, const PER_BYTE: usize>(rows: &[T], code: impl Fn(&T) -> u32) -> Vec<u8> {
    let byte = |rows: &[T]| {
        let of = |(number, row): (usize, &T)| (code(row) as u8) << (number * (8 / PER_BYTE));
        rows.iter()
            .enumerate()
            .map(of)
            .fold(0, |byte, code| byte | code)
    };
    let (whole, rest) = rows.as_chunks::<PER_BYTE>();
    let mut out: Vec<u8> = whole.iter().map(|rows| byte(rows)).collect();
    if !rest.is_empty() {
        out.push(byte(rest));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_column_has_the_bits_of_its_rows(nulls in prop::collection::vec(any::<u64>(), 0..200)) {
            let columns = [0, 1, 31, 32, 52, 63];
            for (bits, place) in valid(&nulls, |nulls| *nulls, &columns).iter().zip(columns) {
                prop_assert_eq!(bits.len(), nulls.len().div_ceil(8));
                for (row, nulls) in nulls.iter().enumerate() {
                    let is_valid = bits[row / 8] >> (row % 8) & 1 == 1;
                    prop_assert_eq!(is_valid, nulls >> place & 1 == 0);
                }
            }
        }

        #[test]
        fn codes_are_packed_lowest_first(
            codes in prop::collection::vec(any::<u32>(), 0..50),
            width in prop::sample::select(vec![1_usize, 2, 4, 8, 16, 32]),
        ) {
            let all = u32::MAX >> (32 - width);
            let bytes = packed(&codes, |code| code & all, width);
            prop_assert_eq!(bytes.len(), codes.len().div_ceil(8) * width);
            for (number, code) in codes.iter().enumerate() {
                let bits = number * width..(number + 1) * width;
                let found = bits.rev().fold(0, |found, bit| {
                    found << 1 | u32::from(bytes[bit / 8] >> (bit % 8) & 1)
                });
                prop_assert_eq!(found, code & all);
            }
        }
    }
}
