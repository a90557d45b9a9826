// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! `figures [--check] LIST...` draws what lists such as `docs/results/figures.toml` name,
//! each into its own folder. With `--check` it writes nothing, and fails unless all is drawn
//! already.

use std::path::Path;
use std::process::ExitCode;

use figures::list;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_check = arguments.first().is_some_and(|it| it == "--check");
    if is_check {
        arguments.remove(0);
    }
    let option = arguments.iter().find(|it| it.starts_with('-'));
    if let (Some(it), _) | (None, Some(it)) = (
        option.map(|it| format!("{it}: ")),
        arguments.is_empty().then(String::new),
    ) {
        eprintln!("figures: {it}allowed: figures [--check] LIST.toml...");
        return ExitCode::from(2);
    }
    let mut code = ExitCode::SUCCESS;
    for path in &arguments {
        let path = Path::new(path);
        let lines = match is_check {
            true => list::stale(path),
            false => list::draw(path),
        };
        match lines {
            Ok(lines) => {
                for line in &lines {
                    println!("{line}");
                }
                if is_check && !lines.is_empty() {
                    eprintln!("figures: `make figures` draws them");
                    code = ExitCode::FAILURE;
                }
            }
            Err(why) => {
                eprintln!("figures: {why}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
