//! The simulator for a browser: converts, and has no logic. JavaScript writes a request as JSON into [`input`], calls
//! [`start`], [`advance`] until the run is over or for as long as it likes, and [`finish`]. What it gets is a text at
//! [`text_at`]: JSON that says what the run amounted to and where its columns lie in memory, or an error. One run at a time; `start`
//! drops the one before.
//!
//! Nothing is imported, so that the module runs wherever WebAssembly does.

mod outcome;

pub use outcome::outcome;

use bentpipe_reading::Read;
use bentpipe_sim::record::{ColumnRun, Request, TableColumns};
use bentpipe_sim::simulation::Stretch;
use std::cell::RefCell;

#[derive(Default)]
struct State {
    input: Vec<u8>,
    run: Option<ColumnRun>,
    /// Of the latest run that was finished; the text names the places of its columns.
    tables: Vec<TableColumns>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What `start`, `advance` and `finish` return.
const OVER: i32 = 0;
const MORE: i32 = 1;
const ERROR: i32 = -1;

fn say(text: String) {
    TEXT.set(text);
}

/// Makes room for a request of so many bytes, and returns where it is to be written.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.input.clear();
        state.input.resize(length, 0);
        state.input.as_mut_ptr()
    })
}

/// Begins the run that was asked for.
#[unsafe(no_mangle)]
pub extern "C" fn start() -> i32 {
    STATE.with_borrow_mut(|state| {
        (state.run, state.tables) = (None, Vec::new());
        let request = serde_json::from_slice(&state.input)
            .map_err(|error| error.to_string())
            .and_then(|value| Request::from_value(&value).map_err(|fault| fault.to_string()))
            .map_err(|why| format!("the request: {why}"));
        match request.and_then(|it| ColumnRun::new(it).map_err(|error| error.to_string())) {
            Ok(run) => {
                state.run = Some(run);
                MORE
            }
            Err(error) => {
                say(error);
                ERROR
            }
        }
    })
}

/// Goes on for some ten milliseconds.
#[unsafe(no_mangle)]
pub extern "C" fn advance() -> i32 {
    STATE.with_borrow_mut(|state| match state.run.as_mut().map(ColumnRun::advance) {
        Some(Stretch::More) => MORE,
        Some(Stretch::Ended) => OVER,
        None => no_run(),
    })
}

/// Ends the run, where it is if it is not over. The text says what came of it, and is valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn finish() -> i32 {
    STATE.with_borrow_mut(|state| {
        let Some(run) = state.run.take() else {
            return no_run();
        };
        let (results, tables, texts) = run.finish();
        say(outcome(&results, &tables, &texts));
        state.tables = tables.into();
        OVER
    })
}

fn no_run() -> i32 {
    say("no run is under way".to_owned());
    ERROR
}

/// The time that the run has reached, in its own seconds; 0 without one.
#[unsafe(no_mangle)]
pub extern "C" fn now_s() -> f64 {
    STATE.with_borrow(|state| {
        state
            .run
            .as_ref()
            .map_or(0.0, |run| run.now().as_secs_f64())
    })
}

/// Where the text begins.
#[unsafe(no_mangle)]
pub extern "C" fn text_at() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}

/// How many bytes it has, as UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn text_length() -> usize {
    TEXT.with_borrow(String::len)
}
