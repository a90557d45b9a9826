// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! rlock in a library that a program loads (`tests/plugin`). Most tests use it first in the
//! library's constructor. The last one looks at what is left when the library is closed.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Some milliseconds are enough.
const LIMIT: Duration = Duration::from_secs(40);
const CHILD: &str = "RLOCK_PLUGIN_TEST";

/// Runs `body` in a process that runs nothing else and has `RLOCK_PLUGIN` set to `constructor`.
/// Ends it at the [`LIMIT`], for it may stand still and hear no signal. `name`: the test's path.
fn alone(name: &str, constructor: &str, body: impl FnOnce()) {
    if std::env::var(CHILD).is_ok_and(|child| child == name) {
        body();
        return;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, name)
        .env("RLOCK_PLUGIN", constructor)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id() as libc::pid_t;
    let (tell, told) = mpsc::channel::<()>();
    let (output, is_late) = std::thread::scope(|scope| {
        let watchdog = scope.spawn(move || {
            let is_late = told.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout);
            if is_late {
                // SAFETY: the child, for which no thread has waited yet: `tell` is there.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
            is_late
        });
        // Its output ends with it; its number is another's only when `wait` has returned.
        let output = child.wait_with_output().unwrap();
        drop(tell);
        (output, watchdog.join().unwrap())
    });
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!is_late, "it stood still for {LIMIT:?}: {said}");
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{}: {said}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The library, loaded.
struct Plugin(*mut libc::c_void);

fn why() -> String {
    // SAFETY: null or the loader's text.
    unsafe {
        libc::dlerror().as_ref().map_or_else(String::new, |text| {
            CStr::from_ptr(text).to_string_lossy().into()
        })
    }
}

impl Plugin {
    /// Beside this program, where cargo made it.
    fn load() -> Self {
        let path = std::env::current_exe()
            .unwrap()
            .with_file_name("librlock_plugin.so");
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the library's constructor is sound.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{}", why());
        Self(handle)
    }

    fn find(&self, name: &CStr) -> *mut libc::c_void {
        // SAFETY: the handle is open.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!found.is_null(), "{}", why());
        found
    }

    fn use_it(&self) {
        // SAFETY: that is its type.
        let function: extern "C" fn() =
            unsafe { std::mem::transmute(self.find(c"rlock_plugin_use")) };
        function();
    }

    fn sum(&self) -> u64 {
        // SAFETY: that is its type.
        let function: extern "C" fn() -> u64 =
            unsafe { std::mem::transmute(self.find(c"rlock_plugin_sum")) };
        function()
    }

    /// Whether the self-test of the set-up found all, in the constructor as elsewhere.
    fn is_whole(&self) -> bool {
        // SAFETY: that is its type.
        let function: extern "C" fn() -> bool =
            unsafe { std::mem::transmute(self.find(c"rlock_plugin_is_whole")) };
        function()
    }

    fn close(self) {
        // SAFETY: the handle is open, and not used again.
        assert_eq!(unsafe { libc::dlclose(self.0) }, 0, "{}", why());
    }

    /// Whether the process has it in its memory.
    fn is_mapped() -> bool {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.contains("librlock_plugin.so")
    }
}

/// The loader holds its lock, and a thread that registers a destructor waits for that.
#[test]
fn a_constructor_counts() {
    alone("a_constructor_counts", "counts", || {
        let plugin = Plugin::load();
        assert_eq!(plugin.sum(), 1);
        assert!(plugin.is_whole());
        plugin.use_it();
        assert_eq!(plugin.sum(), 2);
    });
}

#[test]
fn a_constructor_registers() {
    alone("a_constructor_registers", "registers", || {
        let plugin = Plugin::load();
        assert_eq!(plugin.sum(), 1);
        assert!(plugin.is_whole());
    });
}

/// Another thread than the one that holds the loader's lock, and waits for it.
#[test]
fn a_constructors_thread_counts() {
    alone("a_constructors_thread_counts", "starts a thread", || {
        let plugin = Plugin::load();
        assert_eq!(plugin.sum(), 1);
        assert!(plugin.is_whole());
    });
}

/// The handler, and what threads that are registered own, are in the library.
#[test]
fn a_library_that_is_closed_stays() {
    alone("a_library_that_is_closed_stays", "", || {
        assert!(!Plugin::is_mapped());
        let plugin = Plugin::load();
        plugin.use_it();
        plugin.close();
        // SAFETY: a signal that is handled, or ignored.
        unsafe { libc::raise(libc::SIGURG) };
        assert!(Plugin::is_mapped());
        let again = Plugin::load();
        assert_eq!(again.sum(), 1);
        again.use_it();
        assert_eq!(again.sum(), 2);
    });
}
