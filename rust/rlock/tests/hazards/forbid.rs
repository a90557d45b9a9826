// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! System calls that a sandbox forbids.

/// The call fails, with the error that is added.
pub(crate) const REFUSE: u32 = libc::SECCOMP_RET_ERRNO;

/// Whether there are filters here.
pub(crate) fn can_forbid() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let can = status.contains("Seccomp:");
    if !can {
        println!("a kernel without seccomp: no filter can forbid a call");
    }
    can
}

/// From now on `action` is what comes of `call`, if `argument` is as said: its number and its
/// lower half. In the calling thread, and in those that it starts.
pub(crate) fn forbid(call: libc::c_long, argument: Option<(u32, u32)>, action: u32) {
    let word = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let give = libc::BPF_RET | libc::BPF_K;
    // The call's number is the data's first word; the arguments begin at the 16th byte. Without
    // an argument to look at, the number is looked at once more.
    let (at, value) = argument.map_or((0, call as u32), |(number, value)| (16 + 8 * number, value));
    let mut filter = [
        word(load, 0, 0, 0),
        word(equal, 0, 3, call as u32),
        word(load, 0, 0, at),
        word(equal, 0, 1, value),
        word(give, 0, 0, action),
        word(give, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the program lives as long as the calls; they change this thread alone.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(
            libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program),
            0
        );
    }
}
