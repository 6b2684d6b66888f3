//! Which instructions multiply buffers on this processor. The choice is made at run time.

#[cfg(target_arch = "aarch64")]
use super::aarch64;
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::x86_64;

/// Instructions that this processor has: a value exists only where they may be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Instructions);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Ssse3,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Gfni256,
    #[cfg(target_arch = "x86_64")]
    Gfni512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Kernel {
    pub const PORTABLE: Self = Self(Instructions::Portable);

    /// All that this processor can run, the fastest last.
    pub fn available() -> Vec<Self> {
        #[cfg_attr(
            not(any(target_arch = "x86_64", target_arch = "aarch64")),
            expect(unused_mut, reason = "other processors have only the portable one")
        )]
        let mut available = vec![Self::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("ssse3") {
                available.push(Self(Instructions::Ssse3));
            }
            if has!("avx2") {
                available.push(Self(Instructions::Avx2));
                if has!("gfni") {
                    available.push(Self(Instructions::Gfni256));
                }
            }
            if has!("gfni") && has!("avx512f") && has!("avx512bw") {
                available.push(Self(Instructions::Gfni512));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            available.push(Self(Instructions::Neon));
        }
        available
    }

    /// The fastest that this processor can run.
    pub fn fastest() -> Self {
        Self::available().pop().unwrap_or(Self::PORTABLE)
    }

    pub fn name(self) -> &'static str {
        match self.0 {
            Instructions::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Instructions::Ssse3 => "ssse3",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Instructions::Gfni256 => "gfni-256",
            #[cfg(target_arch = "x86_64")]
            Instructions::Gfni512 => "gfni-512",
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => "neon",
        }
    }

    /// `into[i] ^= coefficient * from[i]` for each byte that both have.
    #[inline]
    pub fn add_scaled(self, into: &mut [u8], from: &[u8], coefficient: u8) {
        match self.0 {
            Instructions::Portable => portable::add_scaled(into, from, coefficient),
            #[cfg(target_arch = "x86_64")]
            Instructions::Ssse3 => x86_64::ssse3(into, from, coefficient),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => x86_64::avx2(into, from, coefficient),
            #[cfg(target_arch = "x86_64")]
            Instructions::Gfni256 => x86_64::gfni256(into, from, coefficient),
            #[cfg(target_arch = "x86_64")]
            Instructions::Gfni512 => x86_64::gfni512(into, from, coefficient),
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => aarch64::neon(into, from, coefficient),
        }
    }

    /// `buffer[i] = coefficient * buffer[i]`. Once per recovered symbol, so tables are fast enough.
    pub fn scale(self, buffer: &mut [u8], coefficient: u8) {
        portable::scale(buffer, coefficient);
    }
}

impl Default for Kernel {
    fn default() -> Self {
        Self::fastest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::multiply;
    use proptest::prelude::*;

    #[test]
    fn every_kernel_multiplies_every_byte_by_every_coefficient_as_the_table_does() {
        let from: Vec<u8> = (0..=255).collect();
        for kernel in Kernel::available() {
            for coefficient in 0..=255 {
                let mut into = vec![0xa5; 256];
                kernel.add_scaled(&mut into, &from, coefficient);
                let right: Vec<u8> = from
                    .iter()
                    .map(|&byte| 0xa5 ^ multiply(coefficient, byte))
                    .collect();
                assert_eq!(into, right, "{} by {coefficient}", kernel.name());
            }
        }
    }

    proptest! {
        #[test]
        fn every_kernel_equals_the_portable_one_at_any_length_and_alignment(
            into in prop::collection::vec(any::<u8>(), 0..700),
            from in prop::collection::vec(any::<u8>(), 0..700),
            into_offset in 0_usize..64,
            from_offset in 0_usize..64,
            coefficient: u8,
        ) {
            let from = &from[from_offset.min(from.len())..];
            let at = into_offset.min(into.len());
            let mut right = into.clone();
            Kernel::PORTABLE.add_scaled(&mut right[at..], from, coefficient);
            for kernel in Kernel::available() {
                let mut into = into.clone();
                kernel.add_scaled(&mut into[at..], from, coefficient);
                prop_assert_eq!(&into, &right, "{}", kernel.name());
            }
        }
    }
}
