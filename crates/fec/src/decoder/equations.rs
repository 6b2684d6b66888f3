//! The equations between unknown symbols, kept in reduced row echelon form.
//!
//! Only symbols that are missing have a column, so the work grows with what was lost. Each row has one pivot: the oldest symbol
//! that it contains, with the coefficient 1, which no other row contains. A row that contains its pivot alone gives the symbol.
//! Since a pivot is its row's oldest symbol, forgetting symbols from the oldest on costs one row each and no arithmetic.
//!
//! A symbol that has been asked for, and is expected, is *promised*: a row then has another pivot if it can, so that it says which
//! symbol the promised one will give.

use crate::field::{Kernel, inverse};
use bentpipe_base::OrderedSet;
use core::mem;

#[derive(Clone, Debug)]
struct Row {
    /// The pivot's column.
    pivot: usize,
    /// By column.
    coefficients: Vec<u8>,
    /// The combination of the unknown symbols that the row stands for.
    value: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(super) struct Equations {
    kernel: Kernel,
    max_unknowns: usize,
    promised: OrderedSet<u64>,
    rows: Vec<Row>,
    /// The symbols that have a column, oldest first, with the column.
    unknowns: Vec<(u64, usize)>,
    /// Of all columns, also of the free ones: the row whose pivot the column is.
    pivot_rows: Vec<Option<usize>>,
    free_columns: Vec<usize>,
    /// Memory to be used again.
    spare: Vec<Row>,
    /// Reused for each new row: the rows to subtract, each with its factor.
    factors: Vec<(usize, u8)>,
}

/// What a new equation would be, before its value is computed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Prospect {
    /// It would raise the rank.
    Innovative,
    /// It follows from those that are there.
    Dependent,
    /// It has more unknown symbols than there may be columns.
    NoRoom,
}

impl Equations {
    pub fn new(max_unknowns: usize, kernel: Kernel) -> Self {
        Self {
            kernel,
            max_unknowns,
            promised: OrderedSet::new(),
            rows: Vec::new(),
            unknowns: Vec::new(),
            pivot_rows: Vec::new(),
            free_columns: Vec::new(),
            spare: Vec::new(),
            factors: Vec::new(),
        }
    }

    pub fn rank(&self) -> usize {
        self.rows.len()
    }

    fn column(&self, id: u64) -> Option<usize> {
        let at = self.unknowns.binary_search_by_key(&id, |it| it.0).ok()?;
        Some(self.unknowns[at].1)
    }

    fn columns(&self) -> usize {
        self.pivot_rows.len()
    }

    fn add_row(&mut self, row: Row) {
        self.pivot_rows[row.pivot] = Some(self.rows.len());
        self.rows.push(row);
    }

    fn remove_row(&mut self, index: usize) -> Row {
        let row = self.rows.swap_remove(index);
        self.pivot_rows[row.pivot] = None;
        if let Some(moved) = self.rows.get(index) {
            self.pivot_rows[moved.pivot] = Some(index);
        }
        row
    }

    /// Whether the symbol is known as soon as enough younger ones are: its own equation is there.
    pub fn is_pivot(&self, id: u64) -> bool {
        self.column(id)
            .is_some_and(|column| self.pivot_rows[column].is_some())
    }

    /// Begins a row with these nonzero coefficients, oldest first. If the row is innovative, call [`Self::insert`] next.
    pub fn prepare(&mut self, coefficients: &[(u64, u8)]) -> Prospect {
        let new = coefficients
            .iter()
            .filter(|(id, _)| self.column(*id).is_none())
            .count();
        if self.unknowns.len() + new > self.max_unknowns {
            return Prospect::NoRoom;
        }
        let mut row = self.spare.pop().unwrap_or(Row {
            pivot: 0,
            coefficients: Vec::new(),
            value: Vec::new(),
        });
        row.value.clear();
        row.coefficients.clear();
        row.coefficients.resize(self.columns(), 0);
        self.factors.clear();
        for &(id, coefficient) in coefficients {
            if let Some(column) = self.column(id) {
                row.coefficients[column] = coefficient;
                if let Some(row) = self.pivot_rows[column] {
                    self.factors.push((row, coefficient));
                }
            }
        }
        for &(other, factor) in &self.factors {
            let other = &self.rows[other].coefficients;
            self.kernel.add_scaled(&mut row.coefficients, other, factor);
        }
        let innovative = new > 0 || row.coefficients.iter().any(|&it| it != 0);
        if innovative && new > 0 {
            for &(id, coefficient) in coefficients {
                if self.column(id).is_none() {
                    let column = self.add_column(id);
                    row.coefficients.resize(self.columns(), 0);
                    row.coefficients[column] = coefficient;
                }
            }
        }
        self.spare.push(row);
        if innovative {
            Prospect::Innovative
        } else {
            Prospect::Dependent
        }
    }

    fn add_column(&mut self, id: u64) -> usize {
        let column = self.free_columns.pop().unwrap_or_else(|| {
            for row in &mut self.rows {
                row.coefficients.push(0);
            }
            self.pivot_rows.push(None);
            self.pivot_rows.len() - 1
        });
        let at = self.unknowns.partition_point(|it| it.0 < id);
        self.unknowns.insert(at, (id, column));
        column
    }

    /// Adds the row that was prepared. `value` computes what it equals, from the repair symbol and the known symbols.
    pub fn insert(&mut self, value: impl FnOnce(&mut Vec<u8>)) {
        let Some(mut row) = self.spare.pop() else {
            return;
        };
        value(&mut row.value);
        for &(other, factor) in &self.factors {
            let other = &self.rows[other].value;
            if row.value.len() < other.len() {
                row.value.resize(other.len(), 0);
            }
            self.kernel.add_scaled(&mut row.value, other, factor);
        }
        self.settle(row);
    }

    /// Gives a row that contains no pivot of another row its own pivot, and removes that from the others.
    fn settle(&mut self, mut row: Row) {
        let contained = |it: &&(u64, usize)| row.coefficients[it.1] != 0;
        let mut contained = self.unknowns.iter().filter(contained);
        let oldest = contained.clone().next();
        let not_promised = contained.find(|(id, _)| !self.promised.contains(*id));
        let Some(&(_, pivot)) = not_promised.or(oldest) else {
            self.spare.push(row);
            return;
        };
        row.pivot = pivot;
        if let Some(scale) = inverse(row.coefficients[pivot]).filter(|&it| it != 1) {
            self.kernel.scale(&mut row.coefficients, scale);
            self.kernel.scale(&mut row.value, scale);
        }
        for other in &mut self.rows {
            let factor = other.coefficients[pivot];
            if factor != 0 {
                self.kernel
                    .add_scaled(&mut other.coefficients, &row.coefficients, factor);
                if other.value.len() < row.value.len() {
                    other.value.resize(row.value.len(), 0);
                }
                self.kernel.add_scaled(&mut other.value, &row.value, factor);
            }
        }
        self.add_row(row);
    }

    /// The symbol is known now: it leaves all equations. False where it is in none.
    pub fn substitute(&mut self, id: u64, symbol: &[u8]) -> bool {
        self.promised.remove(id);
        let Some(column) = self.column(id) else {
            return false;
        };
        let mut without_pivot = None;
        for (index, row) in self.rows.iter_mut().enumerate() {
            let factor = mem::take(&mut row.coefficients[column]);
            if factor != 0 {
                if row.value.len() < symbol.len() {
                    row.value.resize(symbol.len(), 0);
                }
                self.kernel.add_scaled(&mut row.value, symbol, factor);
                if row.pivot == column {
                    without_pivot = Some(index);
                }
            }
        }
        let without_pivot = without_pivot.map(|index| self.remove_row(index));
        self.remove_column(id);
        if let Some(row) = without_pivot {
            self.settle(row);
        }
        true
    }

    fn remove_column(&mut self, id: u64) {
        if let Ok(at) = self.unknowns.binary_search_by_key(&id, |it| it.0) {
            let (_, column) = self.unknowns.remove(at);
            self.free_columns.push(column);
        }
        if self.unknowns.is_empty() {
            self.pivot_rows.clear();
            self.free_columns.clear();
        }
    }

    /// The symbol has been asked for, and will come.
    pub fn promise(&mut self, id: u64) {
        self.promised.insert(id);
        let row = self.column(id).and_then(|column| self.pivot_rows[column]);
        if let Some(index) = row {
            let row = self.remove_row(index);
            self.settle(row);
        }
    }

    /// What has been asked for will not come.
    pub fn break_promise(&mut self, id: u64) {
        self.promised.remove(id);
    }

    /// Which symbols must be known for this one to be known, but for those that are promised: itself, where it has no equation.
    pub fn needed(&self, id: u64) -> Vec<u64> {
        let row = self.column(id).and_then(|column| self.pivot_rows[column]);
        let Some(row) = row.map(|index| &self.rows[index]) else {
            return vec![id];
        };
        let others = self
            .unknowns
            .iter()
            .filter(|(_, column)| *column != row.pivot && row.coefficients[*column] != 0);
        let needed = others.filter(|(id, _)| !self.promised.contains(*id));
        needed.map(|it| it.0).collect()
    }

    /// Forgets symbols that will not be asked for again, with the equations that contain them.
    pub fn forget_before(&mut self, first: u64) {
        while self.promised.first().is_some_and(|id| id < first) {
            self.promised.pop_first();
        }
        while let Some(&(id, column)) = self.unknowns.first().filter(|it| it.0 < first) {
            while let Some(index) = self
                .rows
                .iter()
                .position(|row| row.coefficients[column] != 0)
            {
                let row = self.remove_row(index);
                self.spare.push(row);
            }
            self.remove_column(id);
        }
    }

    /// Takes a row that contains its pivot alone: the pivot's number and its symbol, which `take` may exchange for memory.
    pub fn take_solved(&mut self, take: impl FnOnce(u64, &mut Vec<u8>)) -> bool {
        let solved = self.rows.iter().position(|row| {
            let (before, from) = row.coefficients.split_at(row.pivot);
            let is_zero = |it: &[u8]| it.iter().all(|&it| it == 0);
            is_zero(before) && is_zero(&from[1..])
        });
        let Some(index) = solved else {
            return false;
        };
        let mut row = self.remove_row(index);
        let id = self
            .unknowns
            .iter()
            .find(|it| it.1 == row.pivot)
            .map(|it| it.0);
        if let Some(id) = id {
            self.promised.remove(id);
            take(id, &mut row.value);
            self.remove_column(id);
        }
        self.spare.push(row);
        true
    }

    /// What must hold after each step.
    #[cfg(test)]
    pub fn check(&self) {
        for (index, row) in self.rows.iter().enumerate() {
            assert_eq!(row.coefficients.len(), self.columns());
            assert_eq!(row.coefficients[row.pivot], 1);
            assert_eq!(self.pivot_rows[row.pivot], Some(index));
            let oldest = self
                .unknowns
                .iter()
                .find(|(_, column)| row.coefficients[*column] != 0);
            assert!(!self.promised.is_empty() || oldest.map(|it| it.1) == Some(row.pivot));
            for (other, its) in self.rows.iter().enumerate() {
                assert!(other == index || its.coefficients[row.pivot] == 0);
            }
        }
        assert!(self.rows.len() <= self.unknowns.len());
        assert!(self.unknowns.len() <= self.max_unknowns);
        assert!(self.unknowns.is_sorted());
    }
}
