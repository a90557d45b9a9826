/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/* Ends a program that hangs, in C or C++. A slow one goes on: FIFO locks beside other work have taken minutes. */
#include <signal.h>
#include <unistd.h>

static long long checks_passed, checks_seen;
static unsigned int hang_seconds;

/* A check, or a section of a mutex. */
static inline void check_passed(void)
{
	__atomic_fetch_add(&checks_passed, 1, __ATOMIC_RELAXED);
}

/* By SIGALRM, as if nobody had taken it. */
static inline void look_whether_it_hangs(int number)
{
	long long passed = __atomic_load_n(&checks_passed, __ATOMIC_RELAXED);

	if (passed == checks_seen) {
		signal(number, SIG_DFL);
		raise(number);
	}
	checks_seen = passed;
	alarm(hang_seconds);
}

/* From here on the program ends once no check was passed for so long. */
static inline void end_if_it_hangs(unsigned int seconds)
{
	struct sigaction looks;

	hang_seconds = seconds;
	looks.sa_handler = look_whether_it_hangs;
	sigemptyset(&looks.sa_mask);
	looks.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &looks, NULL);
	alarm(seconds);
}
