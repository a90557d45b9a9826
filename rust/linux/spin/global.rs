// SPDX-License-Identifier: GPL-2.0-only

//! Locks in a `static`, as `kernel::sync::global_lock!` defines the kernel's own.

/// Defines a [`TwaLock`](crate::spin::TwaLock) or a [`TicketLock`](crate::spin::TicketLock) in a
/// `static`, or one of those for interrupt handlers: a [`GlobalLock`](kernel::sync::GlobalLock).
///
/// A module that writes `unsafe(uninit)` promises that the lock's `init` is called once, before
/// the first `lock`. A module's own `init` is the place.
///
/// # Examples
///
/// `rust/linux/sample` has one.
#[macro_export]
macro_rules! global_spin_lock {
    {
        $(#[$meta:meta])* $pub:vis
        unsafe(uninit) static $name:ident: $kind:ident<$item:ty> = $value:expr;
    } => {
        #[doc = ::core::concat!("The backend of [`", ::core::stringify!($name), "`](static@",
            ::core::stringify!($name), ").")]
        #[allow(
            non_camel_case_types,
            unreachable_pub,
            reason = "not `expect`: whether a lint speaks depends on the user's name and visibility"
        )]
        $pub enum $name {}

        impl ::kernel::sync::lock::GlobalLockBackend for $name {
            const NAME: &'static ::kernel::str::CStr =
                ::kernel::c_str!(::core::stringify!($name));
            type Item = $item;
            type Backend = $crate::spin::global_spin_lock!(backend $kind);

            fn get_lock_class() -> ::core::pin::Pin<&'static ::kernel::sync::LockClassKey> {
                ::kernel::static_lock_class!()
            }
        }

        $(#[$meta])*
        $pub static $name: ::kernel::sync::GlobalLock<$name> = {
            let value: $item = $value;
            // SAFETY: The caller promises to initialise it before its first use. This is the
            // only lock with this backend.
            unsafe { ::kernel::sync::GlobalLock::new(value) }
        };
    };
    (backend TwaLock) => { $crate::spin::TwaBackend };
    (backend TicketLock) => { $crate::spin::TicketBackend };
    (backend TwaLockIrq) => { $crate::spin::TwaIrqBackend };
    (backend TicketLockIrq) => { $crate::spin::TicketIrqBackend };
}
pub use global_spin_lock;
