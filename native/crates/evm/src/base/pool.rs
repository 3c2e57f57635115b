//! Threads for what is too long for a thread that others wait for.

use crate::base::error::Error;
use crate::base::locks::lock;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

type Job = Box<dyn FnOnce() + Send>;

/// Threads behind a queue of fixed length, in which clients take turns: one with much to do waits for itself, not others
/// for it.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    is_ready: Condvar,
    /// Jobs queued or running.
    waiting: AtomicUsize,
    capacity: usize,
    /// Of one client at the same time: one thread fewer than there are.
    max_running: usize,
}

#[derive(Default)]
struct Queue {
    /// Clients with something queued or running.
    clients: HashMap<Arc<str>, Line>,
    /// Those with something queued; the next to have its turn is first.
    turns: VecDeque<Arc<str>>,
    queued: usize,
    is_closed: bool,
}

#[derive(Default)]
struct Line {
    jobs: VecDeque<Job>,
    running: usize,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Queue").field("queued", &self.queued).finish_non_exhaustive()
    }
}

impl Queue {
    fn push(&mut self, client: &str, job: Job) {
        let name = match self.clients.get_key_value(client) {
            Some((name, _)) => Arc::clone(name),
            None => Arc::from(client),
        };
        let line = self.clients.entry(Arc::clone(&name)).or_default();
        if line.jobs.is_empty() {
            self.turns.push_back(name);
        }
        line.jobs.push_back(job);
        self.queued += 1;
    }

    /// The next job whose client does not run as much as it may already.
    fn take(&mut self, max_running: usize) -> Option<(Arc<str>, Job)> {
        for _ in 0..self.turns.len() {
            let client = self.turns.pop_front()?;
            let line = self.clients.get_mut(&client)?;
            if line.running >= max_running {
                self.turns.push_back(client);
                continue;
            }
            let job = line.jobs.pop_front()?;
            line.running += 1;
            self.queued -= 1;
            if !line.jobs.is_empty() {
                self.turns.push_back(Arc::clone(&client));
            }
            return Some((client, job));
        }
        None
    }

    fn ended(&mut self, client: &str) {
        if let Some(line) = self.clients.get_mut(client) {
            line.running -= 1;
            if line.running == 0 && line.jobs.is_empty() {
                self.clients.remove(client);
            }
        }
    }
}

impl Pool {
    /// Starts the threads, one more than are named: no client alone has all of them. They end when the pool is dropped.
    pub fn start(name: &str, threads: usize, queue: usize) -> Result<Self, Error> {
        let max_running = threads.max(1);
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            is_ready: Condvar::new(),
            waiting: AtomicUsize::new(0),
            capacity: queue.max(1),
            max_running,
        });
        let pool = Self { shared: Arc::clone(&shared) };
        for index in 0..=max_running {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name(format!("{name}-{index}"))
                .spawn(move || work(&shared))
                .map_err(|why| Error::Unavailable(format!("cannot start an EVM thread: {why}")))?;
        }
        Ok(pool)
    }

    /// Queues a job of the node itself; false when the queue is full.
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) -> bool {
        self.queue("", Box::new(job), |queue, capacity| queue.queued < capacity)
    }

    /// Queues a job of a client; false when it has as much queued as it leaves room for others.
    pub fn submit_for(&self, client: &str, job: impl FnOnce() + Send + 'static) -> bool {
        self.queue(client, Box::new(job), |queue, capacity| {
            let own = queue.clients.get(client).map_or(0, |line| line.jobs.len());
            own < capacity.saturating_sub(queue.queued)
        })
    }

    fn queue(&self, client: &str, job: Job, has_room: impl FnOnce(&Queue, usize) -> bool) -> bool {
        let mut queue = lock(&self.shared.queue);
        if !has_room(&queue, self.shared.capacity) {
            return false;
        }
        queue.push(client, job);
        // Before a thread can have the job, and with it be done.
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        drop(queue);
        self.shared.is_ready.notify_one();
        true
    }

    /// Jobs queued or running, for metrics.
    pub fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        lock(&self.shared.queue).is_closed = true;
        self.shared.is_ready.notify_all();
    }
}

fn work(shared: &Shared) {
    let mut queue = lock(&shared.queue);
    loop {
        if let Some((client, job)) = queue.take(shared.max_running) {
            drop(queue);
            // A job answers for its own panics; this keeps the thread.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
            shared.waiting.fetch_sub(1, Ordering::Relaxed);
            queue = lock(&shared.queue);
            queue.ended(&client);
            // What waited for this client to run less can be taken by a thread that found nothing.
            if queue.queued > 0 {
                shared.is_ready.notify_one();
            }
        } else if queue.is_closed && queue.queued == 0 {
            return;
        } else {
            queue = shared.is_ready.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
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

    /// A pool of one thread for each client, and one that waits until it is let go.
    fn busy() -> (Pool, Sender<()>) {
        let pool = Pool::start("test", 1, 8).unwrap();
        let (go, stays) = channel::<()>();
        let (begun, has_begun) = channel::<()>();
        assert!(pool.submit_for("many", move || {
            begun.send(()).unwrap();
            let _ = stays.recv();
        }));
        has_begun.recv().unwrap();
        (pool, go)
    }

    #[test]
    fn a_client_that_runs_all_it_may_keeps_nobody_else_waiting() {
        let (pool, go) = busy();
        let (done, order) = channel::<&str>();
        let tell = |name: &'static str| {
            let done = done.clone();
            move || done.send(name).unwrap()
        };
        assert!(pool.submit_for("many", tell("many")));
        assert!(pool.submit_for("few", tell("few")));
        assert_eq!(order.recv().unwrap(), "few");
        assert!(order.try_recv().is_err());
        drop(go);
        assert_eq!(order.recv().unwrap(), "many");
    }

    #[test]
    fn clients_take_turns() {
        let pool = Pool::start("test", 1, 16).unwrap();
        let (go, stays) = channel::<()>();
        let stays = Arc::new(Mutex::new(stays));
        let (begun, has_begun) = channel::<()>();
        for client in ["x", "y"] {
            let (stays, begun) = (Arc::clone(&stays), begun.clone());
            assert!(pool.submit_for(client, move || {
                begun.send(()).unwrap();
                let _ = lock(&stays).recv();
            }));
        }
        has_begun.recv().unwrap();
        has_begun.recv().unwrap();
        let (done, order) = channel::<&str>();
        for (client, name) in [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1")] {
            let done = done.clone();
            assert!(pool.submit_for(client, move || done.send(name).unwrap()));
        }
        // One of the two threads.
        go.send(()).unwrap();
        let told: Vec<_> = (0..4).map(|_| order.recv().unwrap()).collect();
        assert_eq!(told, ["a1", "b1", "a2", "a3"]);
        drop(go);
    }

    #[test]
    fn a_client_leaves_room_for_others() {
        let (pool, go) = busy();
        let taken = (0..8).filter(|_| pool.submit_for("many", || ())).count();
        assert_eq!(taken, 4);
        assert!(pool.submit_for("few", || ()));
        drop(go);
    }
}
