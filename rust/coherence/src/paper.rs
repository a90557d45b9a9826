// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The sentences of the TWA paper's section 4, beside what came out here.
//!
//! A sentence is a few parts, and a part is a ratio with a bound. It is computed on each machine of the sweep, with
//! ticket and grant on one line, and again on two. A sentence holds there if all of its parts do.

use std::collections::BTreeMap;

/// The bounds. They were set before the first table was made.
mod bound {
    /// Not less: within the noise of the draws.
    pub(super) const AS_GOOD: f64 = 0.97;
    /// Not more.
    pub(super) const AS_BAD: f64 = 1.03;
    /// Behind by little.
    pub(super) const SLIGHTLY: f64 = 0.8;
    /// All points of a stable curve lie so close.
    pub(super) const STABLE: f64 = 0.8;
    /// A drop.
    pub(super) const DROP: f64 = 0.9;
    /// Little or no benefit.
    pub(super) const LITTLE: f64 = 1.1;
}

/// The file of the verdicts.
pub const FILE: &str = "paper.csv";

/// The columns of [`FILE`]: a row for each part of a sentence.
pub const VERDICT_COLUMNS: [&str; 12] = [
    "section",
    "figure",
    "sentence",
    "part",
    "bound",
    "least",
    "median",
    "most",
    "held",
    "of",
    "verdict",
    "sentence_verdict",
];

/// A table's rates, in millions a second, by lock, threads and machine.
pub type Rates = BTreeMap<(String, u32, usize), f64>;

/// One machine with one layout of the locks.
#[derive(Clone, Copy)]
struct View<'a> {
    tables: &'a BTreeMap<String, Rates>,
    file: &'static str,
    machine: usize,
    is_apart: bool,
}

/// A rate that a table lacks.
type Lacking = String;

impl<'a> View<'a> {
    fn in_table(self, file: &'static str) -> Self {
        Self { file, ..self }
    }

    fn rates(&self) -> Result<&'a Rates, Lacking> {
        self.tables
            .get(self.file)
            .ok_or_else(|| format!("{}: no such table", self.file))
    }

    /// The rate of a lock, in this layout.
    fn rate(&self, lock: &str, threads: u32) -> Result<f64, Lacking> {
        let laid = match (lock, self.is_apart) {
            ("ticket", true) => "ticket_apart",
            ("twa", true) => "twa_apart",
            _ => lock,
        };
        self.rates()?
            .get(&(laid.to_owned(), threads, self.machine))
            .copied()
            .ok_or_else(|| {
                format!(
                    "{}: no run of {laid} with {threads} threads on machine {}",
                    self.file, self.machine
                )
            })
    }

    /// A lock's, to that of another.
    fn to(&self, lock: &str, other: &str, threads: u32) -> Result<f64, Lacking> {
        Ok(self.rate(lock, threads)? / self.rate(other, threads)?)
    }

    /// A lock's with so many threads, to its own with others.
    fn growth(&self, lock: &str, threads: u32, before: u32) -> Result<f64, Lacking> {
        Ok(self.rate(lock, threads)? / self.rate(lock, before)?)
    }

    /// The numbers of threads in the table, from one on.
    fn threads(&self, from: u32, to: u32) -> Result<Vec<u32>, Lacking> {
        let mut all: Vec<u32> = self.rates()?.keys().map(|key| key.1).collect();
        all.sort_unstable();
        all.dedup();
        all.retain(|it| (from..=to).contains(it));
        if all.is_empty() {
            return Err(format!("{}: no run with {from} to {to} threads", self.file));
        }
        Ok(all)
    }
}

fn least(values: impl IntoIterator<Item = Result<f64, Lacking>>) -> Result<f64, Lacking> {
    values
        .into_iter()
        .try_fold(f64::INFINITY, |least, it| Ok(least.min(it?)))
}

fn most(values: impl IntoIterator<Item = Result<f64, Lacking>>) -> Result<f64, Lacking> {
    values
        .into_iter()
        .try_fold(f64::NEG_INFINITY, |most, it| Ok(most.max(it?)))
}

/// What a ratio must be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
        }
    }

    fn words(self) -> String {
        match self {
            Self::AtLeast(bound) => format!("at least {bound}"),
            Self::AtMost(bound) => format!("at most {bound}"),
        }
    }
}

type Measure = fn(&View<'_>) -> Result<f64, Lacking>;

/// What a sentence says of one ratio.
struct Part {
    says: &'static str,
    of: Measure,
    bound: Bound,
}

struct Sentence {
    section: &'static str,
    figure: &'static str,
    words: &'static str,
    file: &'static str,
    /// Whether the layout of the lock's words matters.
    has_layouts: bool,
    parts: &'static [Part],
}

const MUTEX_BENCH: &str = "coherence.csv";
const THROW: &str = "coherence-throw.csv";
const TORTURE: &str = "coherence-locktorture.csv";
const LEVELDB: &str = "coherence-leveldb.csv";

/// What LevelDB's sentence of section 4.4 is judged by.
const OF_LEVELDB: &[Part] = &[
    Part {
        says: "ticket to the better of TWA and MCS, the least of 1 to 4 threads",
        of: |view| ticket_to_the_better(view, 4),
        bound: Bound::AtLeast(bound::AS_GOOD),
    },
    Part {
        says: "ticket, 72 threads to its best",
        of: ticket_to_its_best,
        bound: Bound::AtMost(bound::DROP),
    },
    Part {
        says: "TWA to MCS, the least of 8 to 72 threads",
        of: |view| twa_to_mcs(view, 8),
        bound: Bound::AtLeast(bound::AS_GOOD),
    },
];

/// The paper's locks of user space.
const LOCKS: [&str; 3] = ["ticket", "twa", "mcs"];

/// The paper's words, and what of them is computed.
const SENTENCES: &[Sentence] = &[
    Sentence {
        section: "1",
        figure: "1",
        words: "As we increase the number of concurrent readers, the writer's progress is slowed.",
        file: "coherence-diameter.csv",
        has_layouts: false,
        parts: &[
            Part {
                says: "72 threads to 1",
                of: |view| view.growth("none", 72, 1),
                bound: Bound::AtMost(bound::DROP),
            },
            Part {
                says: "a point to the one before, the most",
                of: |view| {
                    let all = view.threads(1, 72)?;
                    most(all.windows(2).map(|it| view.growth("none", it[1], it[0])))
                },
                bound: Bound::AtMost(bound::AS_BAD),
            },
        ],
    },
    Sentence {
        section: "4.1",
        figure: "2",
        words: "As seen in the figure, ticket locks performs the best up to 6 threads, with TWA lagging slightly behind.",
        file: MUTEX_BENCH,
        has_layouts: true,
        parts: &[
            Part {
                says: "ticket to the better of TWA and MCS, the least of 1 to 6 threads",
                of: |view| ticket_to_the_better(view, 6),
                bound: Bound::AtLeast(bound::AS_GOOD),
            },
            Part {
                says: "TWA to ticket, the least of 1 to 6 threads",
                of: |view| {
                    let all = view.threads(1, 6)?;
                    least(all.into_iter().map(|it| view.to("twa", "ticket", it)))
                },
                bound: Bound::AtLeast(bound::SLIGHTLY),
            },
        ],
    },
    Sentence {
        section: "4.1",
        figure: "2",
        words: "As we further increase the thread count, however, ticket locks fail to scale.",
        file: MUTEX_BENCH,
        has_layouts: true,
        parts: &[Part {
            says: "ticket, 72 threads to 6",
            of: |view| view.growth("ticket", 72, 6),
            bound: Bound::AtMost(bound::DROP),
        }],
    },
    Sentence {
        section: "4.1",
        figure: "2",
        words: "MCS provides stable asymptotic performance that surpasses ticket locks at 24 threads.",
        file: MUTEX_BENCH,
        has_layouts: true,
        parts: &[
            Part {
                says: "MCS, its least to its most of 24 to 72 threads",
                of: |view| {
                    let all = view.threads(24, 72)?;
                    let rates = || all.iter().map(|&it| view.rate("mcs", it));
                    Ok(least(rates())? / most(rates())?)
                },
                bound: Bound::AtLeast(bound::STABLE),
            },
            Part {
                says: "MCS to ticket, the least of 24 to 72 threads",
                of: |view| {
                    let all = view.threads(24, 72)?;
                    least(all.into_iter().map(|it| view.to("mcs", "ticket", it)))
                },
                bound: Bound::AtLeast(1.0),
            },
            Part {
                says: "MCS to ticket, 18 threads",
                of: |view| view.to("mcs", "ticket", 18),
                bound: Bound::AtMost(1.0),
            },
        ],
    },
    Sentence {
        section: "4.1",
        figure: "2",
        words: "TWA manages to always outperform MCS, freeing the developer from making a choice between MCS locks and ticket locks.",
        file: MUTEX_BENCH,
        has_layouts: true,
        parts: &[Part {
            says: "TWA to MCS, the least of all",
            of: |view| twa_to_mcs(view, 1),
            bound: Bound::AtLeast(1.0),
        }],
    },
    Sentence {
        section: "4.2",
        figure: "3",
        words: "In Fig. 3 we observe that performance drops significantly between 1 and 2 threads.",
        file: THROW,
        has_layouts: true,
        parts: &[Part {
            says: "2 threads to 1, the most of the locks",
            of: |view| most(LOCKS.map(|lock| view.growth(lock, 2, 1))),
            bound: Bound::AtMost(bound::DROP),
        }],
    },
    Sentence {
        section: "4.2",
        figure: "3",
        words: "There is little or no benefit from multiple threads, given that execution is largely serialized, but coherent communication costs are incurred.",
        file: THROW,
        has_layouts: true,
        parts: &[Part {
            says: "the best beyond 1 thread to 1, the most of the locks",
            of: |view| best_to(view, 2, 1).and_then(|it| most(it.map(Ok))),
            bound: Bound::AtMost(bound::LITTLE),
        }],
    },
    Sentence {
        section: "4.2",
        figure: "3",
        words: "As we increase beyond two threads performance improves slightly, but never exceeds that observed at one thread.",
        file: THROW,
        has_layouts: true,
        parts: &[
            Part {
                says: "the best beyond 2 threads to 2, the least of the locks",
                of: |view| best_to(view, 3, 2).and_then(|it| least(it.map(Ok))),
                bound: Bound::AtLeast(1.0),
            },
            Part {
                says: "the best beyond 1 thread to 1, the most of the locks",
                of: |view| best_to(view, 2, 1).and_then(|it| most(it.map(Ok))),
                bound: Bound::AtMost(1.0),
            },
        ],
    },
    Sentence {
        section: "4.2",
        figure: "3",
        words: "Beyond 2 threads, the shape of the graph recapitulates that seen in MutexBench.",
        file: THROW,
        has_layouts: true,
        parts: &[
            Part {
                says: "ticket, 72 threads to its best beyond 2",
                of: |view| {
                    let all = view.threads(3, 72)?;
                    let best = most(all.into_iter().map(|it| view.rate("ticket", it)))?;
                    Ok(view.rate("ticket", 72)? / best)
                },
                bound: Bound::AtMost(bound::DROP),
            },
            Part {
                says: "MCS, 72 threads to 18",
                of: |view| view.growth("mcs", 72, 18),
                bound: Bound::AtLeast(bound::STABLE),
            },
            Part {
                says: "TWA to ticket with 72 threads, to the same of MutexBench",
                of: |view| {
                    Ok(view.to("twa", "ticket", 72)?
                        / view.in_table(MUTEX_BENCH).to("twa", "ticket", 72)?)
                },
                bound: Bound::AtLeast(bound::SLIGHTLY),
            },
        ],
    },
    Sentence {
        section: "4.4",
        figure: "5",
        words: "Ticket locks exhibit a very slight advantage over MCS and TWA at low threads count after which ticket locks fade and TWA matches or exceeds the performance of MCS.",
        file: LEVELDB,
        has_layouts: true,
        parts: OF_LEVELDB,
    },
    Sentence {
        section: "4.6",
        figure: "7",
        words: "As we can see in Fig. 7, classic ticket locks perform well at low conconcurrency but fade as the number of threads increases.",
        file: TORTURE,
        has_layouts: true,
        parts: &[
            Part {
                says: "ticket to the better of TWA and qspinlock's algorithm, the least of 1 to 4 threads",
                of: |view| {
                    least(view.threads(1, 4)?.into_iter().map(|threads| {
                        Ok(view
                            .to("ticket", "twa", threads)?
                            .min(view.to("ticket", "qspin", threads)?))
                    }))
                },
                bound: Bound::AtLeast(bound::AS_GOOD),
            },
            Part {
                says: "ticket, 72 threads to its best",
                of: ticket_to_its_best,
                bound: Bound::AtMost(bound::DROP),
            },
        ],
    },
    Sentence {
        section: "4.6",
        figure: "7",
        words: "TWA performs the same or slightly better than qspinlock, although TWA is far simpler.",
        file: TORTURE,
        has_layouts: true,
        parts: &[Part {
            says: "TWA to qspinlock's algorithm, the least of all",
            of: |view| {
                let all = view.threads(1, 72)?;
                least(all.into_iter().map(|it| view.to("twa", "qspin", it)))
            },
            bound: Bound::AtLeast(bound::AS_GOOD),
        }],
    },
];

/// Whether a sentence's part is computed of the table of this file.
pub fn reads(file: &str) -> bool {
    SENTENCES.iter().any(|it| it.file == file)
}

/// The ticket lock's rate to the better of TWA's and MCS's: the least, of up to so many threads.
fn ticket_to_the_better(view: &View<'_>, to: u32) -> Result<f64, Lacking> {
    least(view.threads(1, to)?.into_iter().map(|threads| {
        let [twa, mcs] = ["twa", "mcs"].map(|it| view.to("ticket", it, threads));
        Ok(twa?.min(mcs?))
    }))
}

/// TWA's rate to MCS's, the least of those from so many threads on.
fn twa_to_mcs(view: &View<'_>, from: u32) -> Result<f64, Lacking> {
    let all = view.threads(from, 72)?;
    least(all.into_iter().map(|it| view.to("twa", "mcs", it)))
}

/// The ticket lock's rate with 72 threads, to its best.
fn ticket_to_its_best(view: &View<'_>) -> Result<f64, Lacking> {
    let all = view.threads(1, 72)?;
    let best = most(all.into_iter().map(|it| view.rate("ticket", it)))?;
    Ok(view.rate("ticket", 72)? / best)
}

/// The best rate of each of the paper's locks from so many threads on, to its rate with others.
fn best_to(view: &View<'_>, from: u32, to: u32) -> Result<[f64; 3], Lacking> {
    let all = view.threads(from, 72)?;
    let mut found = [0.0; 3];
    for (lock, found) in LOCKS.into_iter().zip(&mut found) {
        *found = most(all.iter().map(|&it| view.growth(lock, it, to)))?;
    }
    Ok(found)
}

/// How far something holds.
fn verdict(held: usize, of: usize) -> &'static str {
    match held {
        _ if held == of => "held",
        0 => "not",
        _ => "in part",
    }
}

/// A table's rates: the columns `lock`, `threads`, `machine` and `millions_per_s` of CSV.
///
/// # Errors
///
/// One line: a column that is not there, a value that is no number, two rows of one run.
pub fn rates(csv: &str) -> Result<Rates, String> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let column = |name: &str| {
        header
            .iter()
            .position(|it| it == name)
            .ok_or_else(|| format!("no column {name}"))
    };
    let (lock, threads) = (column("lock")?, column("threads")?);
    let (machine, rate) = (column("machine")?, column("millions_per_s")?);
    let mut rates = Rates::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let wrong = |at: usize| format!("{}: {:?}: a number is due", &header[at], &record[at]);
        let key = (
            record[lock].to_owned(),
            record[threads].parse().map_err(|_| wrong(threads))?,
            record[machine].parse().map_err(|_| wrong(machine))?,
        );
        let value = record[rate].parse().map_err(|_| wrong(rate))?;
        if rates.insert(key.clone(), value).is_some() {
            let (lock, threads, machine) = key;
            return Err(format!(
                "two runs of {lock} with {threads} threads on machine {machine}"
            ));
        }
    }
    Ok(rates)
}

/// The verdicts, in the order of the paper: a row for each part, as [`VERDICT_COLUMNS`].
///
/// The tables are by the names of their files.
///
/// # Errors
///
/// One line: a run that a part needs is in no table.
pub fn verdicts(
    tables: &BTreeMap<String, Rates>,
) -> Result<Vec<[String; VERDICT_COLUMNS.len()]>, String> {
    let mut rows = Vec::new();
    for sentence in SENTENCES {
        rows.extend(judged(sentence, tables)?);
    }
    Ok(rows)
}

fn judged(
    sentence: &Sentence,
    tables: &BTreeMap<String, Rates>,
) -> Result<Vec<[String; VERDICT_COLUMNS.len()]>, String> {
    let head = [sentence.section, sentence.figure, sentence.words].map(str::to_owned);
    let file = sentence.file;
    let rates = tables
        .get(file)
        .ok_or_else(|| format!("{file}: no such table"))?;
    let mut machines: Vec<usize> = rates.keys().map(|key| key.2).collect();
    machines.sort_unstable();
    machines.dedup();
    let layouts = if sentence.has_layouts {
        &[false, true][..]
    } else {
        &[false][..]
    };
    let views: Vec<View<'_>> = layouts
        .iter()
        .flat_map(|&is_apart| {
            machines.iter().map(move |&machine| View {
                tables,
                file,
                machine,
                is_apart,
            })
        })
        .collect();
    let mut all_hold = vec![true; views.len()];
    let mut parts = Vec::new();
    for part in sentence.parts {
        let mut values = views
            .iter()
            .map(part.of)
            .collect::<Result<Vec<f64>, Lacking>>()?;
        let holds: Vec<bool> = values.iter().map(|&it| part.bound.holds(it)).collect();
        for (all, holds) in all_hold.iter_mut().zip(&holds) {
            *all &= holds;
        }
        let held = holds.iter().filter(|&&it| it).count();
        values.sort_by(f64::total_cmp);
        parts.push((part, held, values));
    }
    let of_sentence = verdict(all_hold.iter().filter(|&&it| it).count(), views.len());
    Ok(parts
        .into_iter()
        .map(|(part, held, values)| {
            let [section, figure, words] = head.clone();
            let number = |value: f64| format!("{value:.2}");
            let half = values.len() / 2;
            let median = if values.len() % 2 == 1 {
                values[half]
            } else {
                (values[half - 1] + values[half]) / 2.0
            };
            [
                section,
                figure,
                words,
                part.says.to_owned(),
                part.bound.words(),
                number(values[0]),
                number(median),
                number(values[values.len() - 1]),
                held.to_string(),
                values.len().to_string(),
                verdict(held, values.len()).to_owned(),
                of_sentence.to_owned(),
            ]
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: Part = Part {
        says: "TWA to MCS with 8 threads",
        of: |view| view.to("twa", "mcs", 8),
        bound: Bound::AtLeast(1.0),
    };

    fn sentence(parts: &'static [Part], has_layouts: bool) -> Sentence {
        Sentence {
            section: "9",
            figure: "8",
            words: "TWA is ahead of MCS.",
            file: MUTEX_BENCH,
            has_layouts,
            parts,
        }
    }

    /// A table in which each machine has these rates of TWA, on one line and on two, to MCS's.
    fn table(ratios: &[(f64, f64)]) -> BTreeMap<String, Rates> {
        let mut rates = Rates::new();
        for (machine, &(twa, apart)) in ratios.iter().enumerate() {
            for (lock, rate) in [("twa", 3.0 * twa), ("twa_apart", 3.0 * apart), ("mcs", 3.0)] {
                rates.insert((lock.to_owned(), 8, machine), rate);
            }
        }
        BTreeMap::from([(MUTEX_BENCH.to_owned(), rates)])
    }

    fn judge(ratios: &[(f64, f64)], has_layouts: bool) -> [String; VERDICT_COLUMNS.len()] {
        let rows = judged(&sentence(&[PART], has_layouts), &table(ratios)).expect("all runs");
        assert_eq!(rows.len(), 1);
        rows.into_iter().next().expect("a row")
    }

    #[test]
    fn a_sentence_is_held_in_part_or_not() {
        for (ratios, held, verdict) in [
            (&[(1.0, 1.5), (1.2, 1.1), (1.1, 3.0)][..], "6", "held"),
            (&[(1.0, 1.5), (1.2, 0.99), (1.1, 3.0)][..], "5", "in part"),
            (&[(0.5, 1.5), (0.2, 0.99), (0.1, 0.3)][..], "1", "in part"),
            (&[(0.5, 0.9), (0.2, 0.99), (0.1, 0.3)][..], "0", "not"),
        ] {
            let row = judge(ratios, true);
            assert_eq!(&row[8..], [held, "6", verdict, verdict], "{row:?}");
        }
    }

    #[test]
    fn a_row_has_the_points() {
        let row = judge(&[(1.25, 0.5), (4.0, 1.5), (0.25, 3.0)], true);
        assert_eq!(
            row,
            [
                "9",
                "8",
                "TWA is ahead of MCS.",
                "TWA to MCS with 8 threads",
                "at least 1",
                "0.25",
                "1.38",
                "4.00",
                "4",
                "6",
                "in part",
                "in part"
            ]
        );
        // Each machine once, on one line.
        let row = judge(&[(1.25, 0.5), (4.0, 1.5), (0.25, 3.0)], false);
        assert_eq!(&row[5..10], ["0.25", "1.25", "4.00", "2", "3"]);
    }

    /// Each part holds somewhere, and the sentence nowhere.
    #[test]
    fn a_sentence_needs_all_its_parts_on_one_machine() {
        const AT_MOST: Part = Part {
            bound: Bound::AtMost(0.9),
            ..PART
        };
        let all = table(&[(1.2, 0.5), (0.8, 1.1)]);
        let rows = judged(&sentence(&[PART, AT_MOST], true), &all).expect("all runs");
        let verdicts: Vec<_> = rows
            .iter()
            .map(|row| [&row[8][..], &row[10], &row[11]])
            .collect();
        assert_eq!(verdicts, [["2", "in part", "not"], ["2", "in part", "not"]]);
    }

    #[test]
    fn rates_are_read_by_the_names_of_columns() {
        let text = "handover_p50_ns,machine,lock,threads,millions_per_s\n9.5,1,twa,72,3.25\n8.5,0,twa,72,4.5\n";
        let due = Rates::from([
            (("twa".to_owned(), 72, 1), 3.25),
            (("twa".to_owned(), 72, 0), 4.5),
        ]);
        assert_eq!(rates(text), Ok(due));
        for (text, why) in [
            (
                "lock,threads,machine\ntwa,1,0\n",
                "no column millions_per_s",
            ),
            (
                "lock,threads,machine,millions_per_s\ntwa,1,0,x\n",
                "millions_per_s: \"x\": a number is due",
            ),
            (
                "lock,threads,machine,millions_per_s\ntwa,1,0,1\ntwa,1,0,2\n",
                "two runs of twa with 1 threads on machine 0",
            ),
        ] {
            assert_eq!(rates(text), Err(why.to_owned()));
        }
    }

    #[test]
    fn a_run_that_is_missing_is_named() {
        let mut all = table(&[(1.0, 1.0), (1.0, 1.0)]);
        let rates = all.get_mut(MUTEX_BENCH).expect("the table");
        rates.remove(&("mcs".to_owned(), 8, 1));
        let why = judged(&sentence(&[PART], true), &all).expect_err("a run is missing");
        assert_eq!(
            why,
            "coherence.csv: no run of mcs with 8 threads on machine 1"
        );
        assert_eq!(
            verdicts(&BTreeMap::new()),
            Err("coherence-diameter.csv: no such table".to_owned())
        );
    }

    /// Two layouts of one machine are told apart. MCS has one.
    #[test]
    fn a_layout_is_of_ticket_and_twa() {
        let all = table(&[(2.0, 5.0)]);
        let view = |is_apart| View {
            tables: &all,
            file: MUTEX_BENCH,
            machine: 0,
            is_apart,
        };
        assert_eq!(view(false).rate("twa", 8), Ok(6.0));
        assert_eq!(view(true).rate("twa", 8), Ok(15.0));
        assert_eq!(view(true).rate("mcs", 8), Ok(3.0));
        assert_eq!(view(true).threads(1, 72), Ok(vec![8]));
        assert!(view(true).threads(9, 72).is_err());
    }
}
