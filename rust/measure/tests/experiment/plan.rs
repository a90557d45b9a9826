// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Words that are allowed: what the plan then says, and does.

use crate::locks::{Lock, LOCKS};
use crate::perturb::{perturbations, settings, words};
use handover_measure::perturb::Perturbations;
use handover_measure::plan::{Kind, Plan};
use proptest::prelude::*;
use proptest::sample::subsequence;

/// What was asked for. The words make it, and the workload is made from it.
#[derive(Clone, Debug)]
struct Asked {
    /// None: all.
    locks: Option<Vec<usize>>,
    /// None: a sweep.
    writers: Option<Vec<i32>>,
    cs_steps: u32,
    ncs_steps: u32,
    duration: u32,
    runs: u32,
    stat_interval: u32,
    verbose: u32,
    seed: u64,
    checks: Vec<&'static str>,
    stall_secs: u32,
    uncontended: bool,
    perturbations: Perturbations,
}

fn asked() -> impl Strategy<Value = Asked> {
    let places = (0..LOCKS.len()).collect::<Vec<_>>();
    let locks = prop::option::of(subsequence(places, 1..=LOCKS.len()).prop_shuffle());
    let number = prop_oneof![Just(-1), 1i32..12, 1i32..=1024];
    let writers = prop::option::of(prop::collection::vec(number, 1..=16));
    let checks = subsequence(vec!["owner", "counter", "order", "progress"], 0..=4);
    (
        (locks, writers, 0u32..=1_000_000, 0u32..=1_000_000),
        (
            prop_oneof![Just(0), 0u32..=86_400],
            prop_oneof![Just(1), 1u32..=1000],
            0u32..=3600,
            0u32..=1,
        ),
        (
            prop_oneof![Just(0), any::<u64>()],
            checks,
            1u32..=600,
            any::<bool>(),
            prop_oneof![Just(Perturbations::OFF), perturbations()],
        ),
    )
        .prop_map(|(a, b, c)| Asked {
            locks: a.0,
            writers: a.1,
            cs_steps: a.2,
            ncs_steps: a.3,
            duration: b.0,
            runs: b.1,
            stat_interval: b.2,
            verbose: b.3,
            seed: c.0,
            checks: c.1,
            stall_secs: c.2,
            uncontended: c.3,
            perturbations: c.4,
        })
}

fn joined<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(",")
}

impl Asked {
    fn kind(&self) -> &'static str {
        if self.uncontended {
            "uncontended"
        } else {
            "torture"
        }
    }

    fn checks(&self) -> String {
        match self.checks.len() {
            0 => "none".to_owned(),
            _ => joined(&self.checks),
        }
    }

    fn words(&self) -> Vec<String> {
        let locks = self
            .locks
            .as_ref()
            .map(|list| joined(list.iter().map(|&at| LOCKS[at].name)));
        let writers = self.writers.as_ref().map(joined);
        let mut all = vec![
            format!("torture_type={}", locks.unwrap_or("all".into())),
            format!("nwriters_stress={}", writers.unwrap_or("sweep".into())),
            format!("cs_steps={}", self.cs_steps),
            format!("ncs_steps={}", self.ncs_steps),
            format!("duration={}", self.duration),
            format!("runs={}", self.runs),
            format!("stat_interval={}", self.stat_interval),
            format!("verbose={}", self.verbose),
            format!("seed={}", self.seed),
            format!("checks={}", self.checks()),
            format!("stall_secs={}", self.stall_secs),
            format!("experiment={}", self.kind()),
        ];
        all.extend(
            settings(&self.perturbations)
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        all
    }

    /// The places of the locks.
    fn places(&self) -> Vec<usize> {
        let all = || (0..LOCKS.len()).filter(|&at| LOCKS[at].excludes).collect();
        self.locks.clone().unwrap_or_else(all)
    }

    /// The numbers of writers on so many CPUs.
    fn numbers(&self, cpus: i32) -> Vec<i32> {
        let most = cpus.min(1024);
        let sweep = || {
            let mut numbers = vec![];
            let mut next = 1;
            while next < most {
                numbers.push(next);
                next += next;
            }
            numbers.push(most);
            numbers
        };
        let meant = |&it: &i32| if it == -1 { (2 * most).min(1024) } else { it };
        self.writers
            .as_ref()
            .map_or_else(sweep, |list| list.iter().map(meant).collect())
    }

    /// Why it cannot be settled, if so.
    fn fault(&self, cpus: i32) -> Option<String> {
        let numbers = self.numbers(cpus);
        let twice = (2 * cpus).min(1024);
        if let Some(at) = (0..numbers.len()).find(|&at| numbers[..at].contains(&numbers[at])) {
            let it = numbers[at];
            return Some(format!(
                "nwriters_stress={it},{it}: allowed: each number once; -1 is {twice}"
            ));
        }
        let alone = self.places().into_iter().find(|&at| !LOCKS[at].has_pair)?;
        let name = LOCKS[alone].name;
        self.uncontended
            .then(|| format!("torture_type={name}: allowed with experiment=uncontended: all, or locks that exclude"))
    }

    /// The workload, the number of all runs, and whether only the first is left.
    fn due(&self, cpus: i32, drawn: u64) -> (String, u32, bool) {
        let mut names: Vec<&str> = self.places().iter().map(|&at| LOCKS[at].name).collect();
        let mut numbers = self.numbers(cpus);
        let mut runs = self.runs;
        let all = runs as usize * names.len() * numbers.len();
        if self.uncontended {
            let text = format!(
                "experiment=uncontended torture_type={} runs={runs} pairs=1234",
                joined(names)
            );
            return (text, runs, false);
        }
        let cut = self.duration == 0 && all > 1;
        if cut {
            (names, numbers, runs) = (vec![names[0]], vec![numbers[0]], 1);
        }
        let seed = if self.seed == 0 { drawn | 1 } else { self.seed };
        let mut text = format!(
            "experiment=torture torture_type={} nwriters_stress={} cs_steps={} ncs_steps={} checks={} \
             duration={} runs={runs} stall_secs={} seed={seed} nice=-7",
            joined(names), joined(numbers), self.cs_steps, self.ncs_steps, self.checks(), self.duration,
            self.stall_secs,
        );
        let more = words(&self.perturbations, " ");
        if more != "none" {
            text = format!("{text} {more}");
        }
        (text, if cut { 1 } else { all as u32 }, cut)
    }
}

proptest! {
    /// Words may come in any order, and after any other words. Blanks may be many.
    #[test]
    fn a_plan_is_what_was_asked_for(
        before in asked(),
        it in asked(),
        order in Just((0..27).collect::<Vec<usize>>()).prop_shuffle(),
        blank in prop_oneof![Just(" "), Just("\n"), Just(" \t ")],
        cpus in prop_oneof![1i32..20, 1i32..3000],
        drawn in any::<u64>(),
    ) {
        let words = it.words();
        let words: Vec<&str> = order.iter().map(|&at| words[at].as_str()).collect();
        let base = Plan::<Lock>::default().with(&before.words().join(" ")).map_err(|why| why.to_string());
        let plan = base.unwrap().with(&words.join(blank)).map_err(|why| why.to_string());
        let mut plan = plan.unwrap();
        let mut draws = 0;
        let settled = plan.settle(cpus as u32, || {
            draws += 1;
            drawn
        });
        if let Some(fault) = it.fault(cpus) {
            prop_assert_eq!(settled.map_err(|why| why.to_string()), Err(fault));
            return Ok(());
        }
        let (text, total, cut) = it.due(cpus, drawn);
        prop_assert_eq!(settled.map_err(|why| why.to_string()), Ok(cut));
        prop_assert_eq!(plan.to_string(), text);
        prop_assert_eq!(plan.total_runs(), total);
        prop_assert_eq!(draws, u32::from(it.seed == 0));
        prop_assert_eq!((plan.stat_interval, plan.is_verbose()), (it.stat_interval, it.verbose == 1));
        prop_assert_eq!((plan.seed, plan.stall_secs), (if it.seed == 0 { drawn | 1 } else { it.seed }, it.stall_secs));
        prop_assert!((plan.kind == Kind::Uncontended) == it.uncontended);
    }

    #[test]
    fn the_locks_take_turns(it in asked(), first in 0usize..100) {
        let mut plan = Plan::<Lock>::default();
        let words = it.words();
        let (name, value) = words[0].split_once('=').unwrap();
        prop_assert!(plan.set(name, value).is_ok());
        let mut due: Vec<&str> = it.places().iter().map(|&at| LOCKS[at].name).collect();
        prop_assert_eq!(plan.locks().map(|lock| lock.name).collect::<Vec<_>>(), due.clone());
        let turn = first % due.len();
        due.rotate_left(turn);
        prop_assert_eq!(plan.locks_from(first).map(|lock| lock.name).collect::<Vec<_>>(), due);
    }
}

/// The paper's sweep: what the documents promise of a module without parameters.
#[test]
fn the_default_is_the_papers() {
    let mut plan = Plan::<Lock>::default();
    assert!(plan.settle(6, || 8).is_ok_and(|cut| !cut));
    assert_eq!(
        plan.to_string(),
        "experiment=torture torture_type=twa,ticket,spin_lock,raw_spin_lock \
         nwriters_stress=1,2,4,6 cs_steps=20 ncs_steps=400 checks=owner,counter,order,progress duration=30 \
         runs=7 stall_secs=10 seed=9 nice=-7"
    );
    assert_eq!((plan.stat_interval, plan.is_verbose()), (60, true));
    assert_eq!(plan.total_runs(), 7 * 4 * 4);
}

/// `insmod experiment=none` starts none. A later request is for an experiment of its own.
#[test]
fn a_request_is_for_an_experiment() {
    let mut base = Plan::<Lock>::default();
    assert!(base.set("experiment", "none").is_ok());
    assert_eq!(base.total_runs(), 0);
    assert!(base
        .to_string()
        .starts_with("experiment=none torture_type="));
    assert!(base
        .with("runs=3")
        .is_ok_and(|plan| plan.kind == Kind::Torture));
    let pairs = base.with("experiment=uncontended");
    assert!(pairs.is_ok_and(|plan| plan.kind == Kind::Uncontended));
    let before = base.with("runs=3").map_err(|why| why.to_string()).unwrap();
    assert_eq!((base.runs, before.runs), (7, 3));
}

proptest! {
    /// A request is insmod's, changed by its words alone.
    #[test]
    fn a_request_keeps_what_it_does_not_name(it in asked(), runs in 1u32..=1000) {
        let mut base = Plan::<Lock>::default();
        for word in it.words() {
            let (name, value) = word.split_once('=').unwrap();
            prop_assert!(base.set(name, value).is_ok());
        }
        let mut due = base;
        let text = runs.to_string();
        prop_assert!(due.set("runs", &text).is_ok());
        let word = format!("runs={runs}");
        let request = base.with(&word).map_err(|why| why.to_string()).unwrap();
        prop_assert_eq!((request.to_string(), request.kind), (due.to_string(), due.kind));
    }
}

/// One run has no other to be cut from.
#[test]
fn one_run_without_an_end_is_not_cut() {
    let settled = |words| {
        let mut plan = Plan::<Lock>::default()
            .with(words)
            .map_err(|why| why.to_string())
            .unwrap();
        let cut = plan.settle(4, || 1).map_err(|why| why.to_string());
        (cut, plan.total_runs())
    };
    assert_eq!(
        settled("duration=0 torture_type=mcs nwriters_stress=3 runs=1"),
        (Ok(false), 1)
    );
    assert_eq!(
        settled("duration=0 torture_type=mcs nwriters_stress=3 runs=2"),
        (Ok(true), 1)
    );
    assert_eq!(
        settled("duration=1 torture_type=mcs nwriters_stress=3 runs=2"),
        (Ok(false), 2)
    );
    assert_eq!(
        settled("duration=0 experiment=uncontended torture_type=twa runs=2"),
        (Ok(false), 2)
    );
}
