//! Multiplication of buffers by tables, for any processor.

use super::PRODUCTS;

pub(super) fn add_scaled(into: &mut [u8], from: &[u8], coefficient: u8) {
    let products = &PRODUCTS[usize::from(coefficient)];
    for (into, &from) in into.iter_mut().zip(from) {
        *into ^= products[usize::from(from)];
    }
}

pub(super) fn scale(buffer: &mut [u8], coefficient: u8) {
    let products = &PRODUCTS[usize::from(coefficient)];
    for byte in buffer {
        *byte = products[usize::from(*byte)];
    }
}
