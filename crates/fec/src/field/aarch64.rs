//! Multiplication of buffers by NEON: the products of both halves of a byte are looked up by a table instruction.
//!
//! The function is called by `Kernel` alone, whose value exists only where the processor has the instructions.
#![allow(unsafe_code)]

use super::{NIBBLE_PRODUCTS, portable};
use core::arch::aarch64::{
    vandq_u8, vdupq_n_u8, veorq_u8, vld1q_u8, vqtbl1q_u8, vshrq_n_u8, vst1q_u8,
};

pub(super) fn neon(into: &mut [u8], from: &[u8], coefficient: u8) {
    // SAFETY: `Kernel` has found NEON.
    unsafe { add_neon(into, from, coefficient) }
}

#[target_feature(enable = "neon")]
fn add_neon(into: &mut [u8], from: &[u8], coefficient: u8) {
    let length = into.len().min(from.len());
    let (into, into_rest) = into[..length].as_chunks_mut::<16>();
    let (from, from_rest) = from[..length].as_chunks::<16>();
    let tables = NIBBLE_PRODUCTS[usize::from(coefficient)].as_ptr();
    // SAFETY: the array has 32 bytes.
    let (low, high) = unsafe { (vld1q_u8(tables), vld1q_u8(tables.add(16))) };
    let nibble = vdupq_n_u8(0x0f);
    for (to, source) in into.iter_mut().zip(from) {
        // SAFETY: both chunks have 16 bytes.
        unsafe {
            let bytes = vld1q_u8(source.as_ptr());
            let product = veorq_u8(
                vqtbl1q_u8(low, vandq_u8(bytes, nibble)),
                vqtbl1q_u8(high, vshrq_n_u8::<4>(bytes)),
            );
            vst1q_u8(to.as_mut_ptr(), veorq_u8(vld1q_u8(to.as_ptr()), product));
        }
    }
    portable::add_scaled(into_rest, from_rest, coefficient);
}
