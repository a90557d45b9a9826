/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CONTENDED_THREADS_H
#define CONTENDED_THREADS_H

int contended_start(void);
void contended_stop(void);
void contended_once(void);

#endif
