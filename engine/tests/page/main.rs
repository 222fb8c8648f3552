//! Tests of the page format against files of a real server, against a simple
//! model, and against an independent checker.

mod built_file;
mod damaged;
mod examples;
mod model;
mod model_rows;
mod samples;
mod support;
