//! Multiplication of buffers by SSSE3, AVX2 and GFNI.
//!
//! SSSE3 and AVX2 look up the products of both halves of a byte by a shuffle (Plank, Greenan, Miller: Screaming Fast Galois
//! Field Arithmetic, 2013). `gf2p8affineqb` multiplies each byte by a matrix of bits, so it serves any polynomial;
//! `gf2p8mulb` is fixed to 0x11B.
//!
//! The functions are called by `Kernel` alone, whose values exist only where the processor has the instructions.
#![allow(unsafe_code, clippy::cast_ptr_alignment)] // Loads and stores are the unaligned ones.

use super::{NIBBLE_PRODUCTS, PRODUCTS, portable};
use core::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_and_si128, _mm_loadu_si128, _mm_set1_epi8, _mm_shuffle_epi8,
    _mm_srli_epi64, _mm_storeu_si128, _mm_xor_si128, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_gf2p8affine_epi64_epi8, _mm256_loadu_si256, _mm256_set1_epi8, _mm256_set1_epi64x,
    _mm256_shuffle_epi8, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_xor_si256,
    _mm512_gf2p8affine_epi64_epi8, _mm512_loadu_si512, _mm512_mask_storeu_epi8,
    _mm512_maskz_loadu_epi8, _mm512_set1_epi64, _mm512_storeu_si512, _mm512_xor_si512,
};

/// For each coefficient the matrix of bits that multiplies by it. The row for bit i of the result is byte 7 - i.
static MATRICES: [i64; 256] = {
    let mut matrices = [0; 256];
    let mut coefficient = 0;
    while coefficient < 256 {
        let mut matrix = 0_u64;
        let mut input_bit = 0;
        while input_bit < 8 {
            let product = PRODUCTS[coefficient][1 << input_bit];
            let mut output_bit = 0;
            while output_bit < 8 {
                if product >> output_bit & 1 != 0 {
                    matrix |= 1 << (8 * (7 - output_bit) + input_bit);
                }
                output_bit += 1;
            }
            input_bit += 1;
        }
        matrices[coefficient] = matrix as i64;
        coefficient += 1;
    }
    matrices
};

pub(super) fn ssse3(into: &mut [u8], from: &[u8], coefficient: u8) {
    // SAFETY: `Kernel` has found SSSE3.
    unsafe { add_ssse3(into, from, coefficient) }
}

pub(super) fn avx2(into: &mut [u8], from: &[u8], coefficient: u8) {
    // SAFETY: `Kernel` has found AVX2.
    unsafe { add_avx2(into, from, coefficient) }
}

pub(super) fn gfni256(into: &mut [u8], from: &[u8], coefficient: u8) {
    // SAFETY: `Kernel` has found GFNI and AVX2.
    unsafe { add_gfni256(into, from, coefficient) }
}

pub(super) fn gfni512(into: &mut [u8], from: &[u8], coefficient: u8) {
    // SAFETY: `Kernel` has found GFNI, AVX-512F and AVX-512BW.
    unsafe { add_gfni512(into, from, coefficient) }
}

#[target_feature(enable = "ssse3")]
fn add_ssse3(into: &mut [u8], from: &[u8], coefficient: u8) {
    let tables = NIBBLE_PRODUCTS[usize::from(coefficient)].as_ptr();
    // SAFETY: the array has 32 bytes.
    let (low, high) = unsafe {
        (
            _mm_loadu_si128(tables.cast::<__m128i>()),
            _mm_loadu_si128(tables.add(16).cast::<__m128i>()),
        )
    };
    let nibble = _mm_set1_epi8(0x0f);
    let length = into.len().min(from.len());
    let (into, into_rest) = into[..length].as_chunks_mut::<16>();
    let (from, from_rest) = from[..length].as_chunks::<16>();
    for (to, source) in into.iter_mut().zip(from) {
        let to = to.as_mut_ptr().cast::<__m128i>();
        // SAFETY: both chunks have 16 bytes.
        unsafe {
            let bytes = _mm_loadu_si128(source.as_ptr().cast());
            let product = _mm_xor_si128(
                _mm_shuffle_epi8(low, _mm_and_si128(bytes, nibble)),
                _mm_shuffle_epi8(high, _mm_and_si128(_mm_srli_epi64::<4>(bytes), nibble)),
            );
            _mm_storeu_si128(to, _mm_xor_si128(_mm_loadu_si128(to), product));
        }
    }
    portable::add_scaled(into_rest, from_rest, coefficient);
}

#[target_feature(enable = "avx2")]
fn add_avx2(into: &mut [u8], from: &[u8], coefficient: u8) {
    let tables = NIBBLE_PRODUCTS[usize::from(coefficient)].as_ptr();
    // SAFETY: the array has 32 bytes.
    let (low, high) = unsafe {
        (
            _mm256_broadcastsi128_si256(_mm_loadu_si128(tables.cast::<__m128i>())),
            _mm256_broadcastsi128_si256(_mm_loadu_si128(tables.add(16).cast::<__m128i>())),
        )
    };
    let nibble = _mm256_set1_epi8(0x0f);
    let length = into.len().min(from.len());
    let (into, into_rest) = into[..length].as_chunks_mut::<32>();
    let (from, from_rest) = from[..length].as_chunks::<32>();
    for (to, source) in into.iter_mut().zip(from) {
        let to = to.as_mut_ptr().cast::<__m256i>();
        // SAFETY: both chunks have 32 bytes.
        unsafe {
            let bytes = _mm256_loadu_si256(source.as_ptr().cast());
            let product = _mm256_xor_si256(
                _mm256_shuffle_epi8(low, _mm256_and_si256(bytes, nibble)),
                _mm256_shuffle_epi8(
                    high,
                    _mm256_and_si256(_mm256_srli_epi64::<4>(bytes), nibble),
                ),
            );
            _mm256_storeu_si256(to, _mm256_xor_si256(_mm256_loadu_si256(to), product));
        }
    }
    portable::add_scaled(into_rest, from_rest, coefficient);
}

#[target_feature(enable = "gfni,avx2")]
fn add_gfni256(into: &mut [u8], from: &[u8], coefficient: u8) {
    let matrix = _mm256_set1_epi64x(MATRICES[usize::from(coefficient)]);
    let length = into.len().min(from.len());
    let (into, into_rest) = into[..length].as_chunks_mut::<32>();
    let (from, from_rest) = from[..length].as_chunks::<32>();
    for (to, source) in into.iter_mut().zip(from) {
        let to = to.as_mut_ptr().cast::<__m256i>();
        // SAFETY: both chunks have 32 bytes.
        unsafe {
            let bytes = _mm256_loadu_si256(source.as_ptr().cast());
            let product = _mm256_gf2p8affine_epi64_epi8::<0>(bytes, matrix);
            _mm256_storeu_si256(to, _mm256_xor_si256(_mm256_loadu_si256(to), product));
        }
    }
    portable::add_scaled(into_rest, from_rest, coefficient);
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
fn add_gfni512(into: &mut [u8], from: &[u8], coefficient: u8) {
    let matrix = _mm512_set1_epi64(MATRICES[usize::from(coefficient)]);
    let length = into.len().min(from.len());
    let (into, into_rest) = into[..length].as_chunks_mut::<64>();
    let (from, from_rest) = from[..length].as_chunks::<64>();
    for (to, source) in into.iter_mut().zip(from) {
        let to = to.as_mut_ptr().cast::<__m512i>();
        // SAFETY: both chunks have 64 bytes.
        unsafe {
            let bytes = _mm512_loadu_si512(source.as_ptr().cast());
            let product = _mm512_gf2p8affine_epi64_epi8::<0>(bytes, matrix);
            _mm512_storeu_si512(to, _mm512_xor_si512(_mm512_loadu_si512(to), product));
        }
    }
    if !from_rest.is_empty() {
        let mask = (1_u64 << from_rest.len()) - 1;
        let to = into_rest.as_mut_ptr().cast::<i8>();
        // SAFETY: both rests have as many bytes, fewer than 64, as the mask has ones; no other byte is touched.
        unsafe {
            let bytes = _mm512_maskz_loadu_epi8(mask, from_rest.as_ptr().cast());
            let product = _mm512_gf2p8affine_epi64_epi8::<0>(bytes, matrix);
            let sum = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, to), product);
            _mm512_mask_storeu_epi8(to, mask, sum);
        }
    }
}
