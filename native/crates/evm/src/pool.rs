//! Threads for calls that are too long for a serving thread.

use crate::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

type Job = Box<dyn FnOnce() + Send>;

/// A fixed number of threads behind a queue of fixed length.
#[derive(Debug)]
pub struct Pool {
    jobs: SyncSender<Job>,
    waiting: Arc<AtomicUsize>,
}

impl Pool {
    /// Starts the threads; they end when the pool is dropped.
    pub fn start(threads: usize, queue: usize) -> Result<Self, Error> {
        let (jobs, inbox) = sync_channel::<Job>(queue.max(1));
        let inbox = Arc::new(Mutex::new(inbox));
        let waiting = Arc::new(AtomicUsize::new(0));
        for index in 0..threads.max(1) {
            let (inbox, waiting) = (Arc::clone(&inbox), Arc::clone(&waiting));
            std::thread::Builder::new()
                .name(format!("evm-{index}"))
                .spawn(move || work(&inbox, &waiting))
                .map_err(|why| Error::Unavailable(format!("cannot start an EVM thread: {why}")))?;
        }
        Ok(Self { jobs, waiting })
    }

    /// Queues a job; false when the queue is full.
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) -> bool {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        match self.jobs.try_send(Box::new(job)) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                false
            }
        }
    }

    /// Jobs queued or running, for metrics.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

fn work(inbox: &Mutex<Receiver<Job>>, waiting: &AtomicUsize) {
    loop {
        let next = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        // A job answers for its own panics; this keeps the thread.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
