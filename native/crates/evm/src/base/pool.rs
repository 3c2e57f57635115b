//! Threads for what is too long for a thread that others wait for.

use crate::base::error::Error;
use crate::base::locks::lock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};

type Job = Box<dyn FnOnce() + Send>;

/// A fixed number of threads behind a queue of fixed length.
#[derive(Debug)]
pub struct Pool {
    jobs: SyncSender<Job>,
    waiting: Arc<AtomicUsize>,
}

impl Pool {
    /// Starts the threads; they end when the pool is dropped.
    pub fn start(name: &str, threads: usize, queue: usize) -> Result<Self, Error> {
        let (jobs, inbox) = sync_channel::<Job>(queue.max(1));
        let inbox = Arc::new(Mutex::new(inbox));
        let waiting = Arc::new(AtomicUsize::new(0));
        for index in 0..threads.max(1) {
            let (inbox, waiting) = (Arc::clone(&inbox), Arc::clone(&waiting));
            std::thread::Builder::new()
                .name(format!("{name}-{index}"))
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
        let next = lock(inbox).recv();
        let Ok(job) = next else { return };
        // A job answers for its own panics; this keeps the thread.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test")]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::sync::mpsc::{Sender, channel};

    thread_local! {
        /// Dropped when its thread has ended.
        static SIGN: RefCell<Option<Sender<()>>> = const { RefCell::new(None) };
    }

    #[test]
    fn its_threads_end_with_it_whatever_a_job_did() {
        let pool = Pool::start("test", 3, 8).unwrap();
        let (sign, ended) = channel::<()>();
        let (begun, all) = channel::<()>();
        let gate = Arc::new(std::sync::Barrier::new(3));
        for _ in 0..3 {
            let (sign, begun, gate) = (sign.clone(), begun.clone(), Arc::clone(&gate));
            assert!(pool.submit(move || {
                SIGN.with(|own| *own.borrow_mut() = Some(sign));
                begun.send(()).unwrap();
                // Each of the three on a thread of its own.
                gate.wait();
                panic!("a job that fails");
            }));
        }
        drop(sign);
        for _ in 0..3 {
            all.recv().unwrap();
        }
        drop(pool);
        // Nothing is ever sent: it ends when the last thread has.
        assert!(ended.recv().is_err());
    }
}
