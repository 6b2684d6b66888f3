//! Arithmetic in GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1 (0x11D), as RFC 8681 uses it.
//!
//! Addition is XOR. Products of single bytes come from tables; whole buffers are multiplied
//! by a [`Kernel`].

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod kernel;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use kernel::Kernel;

/// The polynomial without its term x^8.
const POLYNOMIAL: u8 = 0x1d;

/// Powers of the generator 2, twice over, so that a sum of two logarithms needs no reduction.
const POWERS: [u8; 510] = {
    let mut powers = [0; 510];
    let mut power = 1_u8;
    let mut exponent = 0;
    while exponent < 510 {
        powers[exponent] = power;
        let overflow = power & 0x80 != 0;
        power <<= 1;
        if overflow {
            power ^= POLYNOMIAL;
        }
        exponent += 1;
    }
    powers
};

/// The exponent of each byte but 0.
const LOGARITHMS: [u8; 256] = {
    let mut logarithms = [0; 256];
    let mut exponent = 0;
    while exponent < 255 {
        logarithms[POWERS[exponent] as usize] = exponent as u8;
        exponent += 1;
    }
    logarithms
};

/// `PRODUCTS[a][b]` is a * b.
#[cfg(not(target_family = "wasm"))]
static PRODUCTS: [[u8; 256]; 256] = products();
/// A module for browsers is loaded sooner without the table's 64 KiB.
#[cfg(target_family = "wasm")]
static PRODUCTS: std::sync::LazyLock<Box<[[u8; 256]; 256]>> =
    std::sync::LazyLock::new(|| Box::new(products()));

#[expect(
    clippy::large_stack_arrays,
    reason = "a compiler's stack, or once that of a browser"
)]
const fn products() -> [[u8; 256]; 256] {
    let mut products = [[0; 256]; 256];
    let mut a = 1;
    while a < 256 {
        let mut b = 1;
        while b < 256 {
            products[a][b] = POWERS[LOGARITHMS[a] as usize + LOGARITHMS[b] as usize];
            b += 1;
        }
        a += 1;
    }
    products
}

/// For each coefficient its products with 0 to 15, then with 0x00, 0x10 to 0xf0: the two tables of a byte shuffle.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
static NIBBLE_PRODUCTS: [[u8; 32]; 256] = {
    let mut tables = [[0; 32]; 256];
    let mut coefficient = 0;
    while coefficient < 256 {
        let mut nibble = 0;
        while nibble < 16 {
            tables[coefficient][nibble] = PRODUCTS[coefficient][nibble];
            tables[coefficient][nibble + 16] = PRODUCTS[coefficient][nibble << 4];
            nibble += 1;
        }
        coefficient += 1;
    }
    tables
};

/// The product a * b.
pub fn multiply(a: u8, b: u8) -> u8 {
    PRODUCTS[usize::from(a)][usize::from(b)]
}

/// The number whose product with `a` is 1; `None` for 0.
pub fn inverse(a: u8) -> Option<u8> {
    (a != 0).then(|| POWERS[255 - usize::from(LOGARITHMS[usize::from(a)])])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shift and reduce, bit by bit.
    fn product_by_definition(mut a: u8, mut b: u8) -> u8 {
        let mut product = 0;
        while b != 0 {
            if b & 1 != 0 {
                product ^= a;
            }
            a = a << 1 ^ if a & 0x80 == 0 { 0 } else { POLYNOMIAL };
            b >>= 1;
        }
        product
    }

    #[test]
    fn products_are_those_of_the_definition() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(multiply(a, b), product_by_definition(a, b));
            }
        }
    }

    #[test]
    fn every_byte_but_zero_has_an_inverse() {
        for a in 1..=255 {
            assert_eq!(inverse(a).map(|it| multiply(a, it)), Some(1));
        }
        assert_eq!(inverse(0), None);
    }
}
