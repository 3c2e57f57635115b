//! What memory the core and the C library's allocator hold.

use chain_query_evm as core;
use napi_derive::napi;

#[global_allocator]
static ALLOCATOR: core::CountingAllocator = core::CountingAllocator;

/// Bytes of native memory.
#[napi(object)]
pub struct NativeMemory {
    /// That the core allocated and has not freed.
    pub live: f64,
    /// In the C library's heaps, used by anybody in the process; not there where it does not say.
    pub used: Option<f64>,
    /// The same, of large pieces that are mapped one by one. What is never touched of them is not resident.
    pub mapped: Option<f64>,
    /// Freed, and kept by the C library for what comes next.
    pub free: Option<f64>,
}

#[napi(catch_unwind)]
pub fn native_memory() -> NativeMemory {
    let heaps = heaps();
    NativeMemory {
        live: core::live_bytes() as f64,
        used: heaps.map(|heaps| heaps.used as f64),
        mapped: heaps.map(|heaps| heaps.mapped as f64),
        free: heaps.map(|heaps| heaps.free as f64),
    }
}

/// Bytes of the C library's heaps.
#[derive(Clone, Copy)]
struct Heaps {
    used: usize,
    mapped: usize,
    free: usize,
}

/// Those of glibc, all together. Looked up when it is asked for: a glibc
/// before 2.33 does not have it, and the addon must load there too.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "the C library is called")]
fn heaps() -> Option<Heaps> {
    type Mallinfo2 = unsafe extern "C" fn() -> libc::mallinfo2;
    // SAFETY: the name ends with a zero byte.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"mallinfo2".as_ptr()) };
    if symbol.is_null() {
        return None;
    }
    // SAFETY: this is the type of the function of that name.
    let info = unsafe { std::mem::transmute::<*mut libc::c_void, Mallinfo2>(symbol)() };
    Some(Heaps { used: info.uordblks, mapped: info.hblkhd, free: info.fordblks })
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn heaps() -> Option<Heaps> {
    None
}

/// Has the C library give memory back to the system that it keeps for what comes next.
#[napi(catch_unwind)]
pub fn trim_memory() {
    trim();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "the C library is called")]
fn trim() {
    // SAFETY: it may be called at any time, from any thread.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
const fn trim() {}
