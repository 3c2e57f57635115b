//! Forks that a chain config names and whose rules are not implemented: a block of theirs is refused, not executed by older rules.

use crate::base::error::Error;
use alloy_consensus::Header;
use alloy_genesis::ChainConfig;
use alloy_hardforks::ForkCondition;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Fields of configs that look like forks and change nothing that is executed.
const WITHOUT_RULES: [&str; 2] = ["deltaTime", "pectraBlobScheduleTime"];
/// Forks of Base by the names they have in its configs. From Beryl on they bring native contracts and faster blocks, no
/// rules of the EVM.
const BASE: [(&str, &str); 4] = [("azul", "v1"), ("beryl", "v2"), ("cobalt", "v3"), ("denim", "v4")];

/// A fork whose rules are not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownFork {
    name: String,
    at: ForkCondition,
}

impl UnknownFork {
    /// Refuses a block of this fork.
    pub(crate) fn expect_before(&self, header: &Header) -> Result<(), Error> {
        let begins = match self.at {
            ForkCondition::Timestamp(at) if header.timestamp >= at => format!("time {at}"),
            ForkCondition::Block(at) if header.number >= at => format!("block {at}"),
            _ => return Ok(()),
        };
        Err(Error::UnknownFork(format!(
            "block {}: it is of the fork {}, which begins at {begins} and whose rules this version does not know",
            header.number, self.name
        )))
    }
}

impl fmt::Display for UnknownFork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            ForkCondition::Block(at) => write!(f, "{}, from block {at} on", self.name),
            ForkCondition::Timestamp(at) => write!(f, "{}, from time {at} on", self.name),
            _ => f.write_str(&self.name),
        }
    }
}

/// Base's own forks, by name.
pub(crate) fn base_forks(config: &ChainConfig) -> Result<BTreeMap<&'static str, u64>, Error> {
    let mut forks = BTreeMap::new();
    let given = config.extra_fields.get("base").and_then(Value::as_object);
    for (field, value) in given.into_iter().flatten() {
        let known = BASE.iter().find(|(name, alias)| field == name || field == alias);
        if let (Some((name, _)), Some(at)) = (known, activation(field, value)?) {
            forks.insert(*name, at);
        }
    }
    Ok(forks)
}

/// The forks of a config that nothing here implements; `known` are fields of those that are.
pub(crate) fn unknown_forks(
    config: &ChainConfig,
    base: &BTreeMap<&'static str, u64>,
    known: &[&str],
) -> Result<Vec<UnknownFork>, Error> {
    let time = |name: &str, at| UnknownFork { name: name.to_owned(), at: ForkCondition::Timestamp(at) };
    let mut unknown = Vec::new();
    unknown.extend(config.amsterdam_time.map(|at| time("Amsterdam", at)));
    unknown.extend(config.bogota_time.map(|at| time("Bogota", at)));
    for (field, value) in config.extra_fields.iter() {
        if WITHOUT_RULES.contains(&field.as_str()) || known.contains(&field.as_str()) {
            continue;
        }
        let is_time = field.ends_with("Time");
        if !is_time && !field.ends_with("Block") {
            continue;
        }
        if let Some(at) = activation(field, value)? {
            let at = if is_time { ForkCondition::Timestamp(at) } else { ForkCondition::Block(at) };
            unknown.push(UnknownFork { name: field.clone(), at });
        }
    }
    let named = config.extra_fields.get("base").and_then(Value::as_object);
    for (field, value) in named.into_iter().flatten() {
        let is_known = BASE.iter().any(|(name, alias)| field == name || field == alias);
        if let (false, Some(at)) = (is_known, activation(field, value)?) {
            unknown.push(time(&format!("base.{field}"), at));
        }
    }
    // A chain has one of the two families: what both would mean together is nowhere said.
    if !base.is_empty() && config.extra_fields.get("karstTime").is_some_and(|at| !at.is_null()) {
        return Err(Error::Unsupported("the chain config has forks of Base and karstTime".into()));
    }
    Ok(unknown)
}

/// When a fork begins; `null` is never.
fn activation(field: &str, value: &Value) -> Result<Option<u64>, Error> {
    if value.is_null() {
        return Ok(None);
    }
    let text = value.as_str();
    let read = value.as_u64().or_else(|| text.and_then(|text| text.parse().ok())).or_else(|| {
        text.and_then(|text| text.strip_prefix("0x")).and_then(|digits| u64::from_str_radix(digits, 16).ok())
    });
    read.map(Some).ok_or_else(|| Error::Malformed(format!("chain config, {field}: {value} is no time or block")))
}
