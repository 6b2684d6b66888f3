//! A request and its answer on one connection, as far as each has been read.
//!
//! 1. The texts are those of curl, aria2 and nginx by their length only, and for a short name.

/// `GET /file HTTP/1.1`, Host, User-Agent, Accept: as curl 7.88 writes them.
const REQUEST_BYTES: u64 = 74;
/// With the range and the digest asked for, as aria2 1.36 writes them.
const RANGE_REQUEST_BYTES: u64 = 171;
/// Status, Server, Date, Content-Type, Content-Length, Last-Modified, Connection, `ETag`, Accept-Ranges: as nginx 1.22.
const ANSWER_BYTES: u64 = 263;

/// Bytes that are still to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    request_head: u64,
    request_body: u64,
    answer_head: u64,
    answer_body: u64,
}

impl Exchange {
    pub fn download(body: u64) -> Self {
        Self {
            request_head: REQUEST_BYTES,
            request_body: 0,
            answer_head: ANSWER_BYTES,
            answer_body: body,
        }
    }

    pub fn range(body: u64) -> Self {
        Self {
            request_head: RANGE_REQUEST_BYTES,
            ..Self::download(body)
        }
    }

    pub fn upload(body: u64) -> Self {
        Self {
            request_body: body,
            ..Self::download(0)
        }
    }

    pub fn request_bytes(&self) -> u64 {
        self.request_head + self.request_body
    }

    pub fn answer_bytes(&self) -> u64 {
        self.answer_head + self.answer_body
    }

    /// Whether the answer's head has been read.
    pub fn is_begun(&self) -> bool {
        self.answer_head == 0
    }

    /// Of the answer's head alone.
    pub fn head_bytes(&self) -> u64 {
        self.answer_head
    }

    /// Who is asked has read more; returns how much of it is the body's.
    pub fn read_request(&mut self, bytes: u64) -> u64 {
        read(&mut self.request_head, &mut self.request_body, bytes)
    }

    /// Who asked has read more; returns how much of it is the body's.
    pub fn read_answer(&mut self, bytes: u64) -> u64 {
        read(&mut self.answer_head, &mut self.answer_body, bytes)
    }
}

fn read(head: &mut u64, body: &mut u64, bytes: u64) -> u64 {
    let of_head = bytes.min(*head);
    let of_body = (bytes - of_head).min(*body);
    *head -= of_head;
    *body -= of_body;
    of_body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_the_head_is_the_body() {
        let mut exchange = Exchange::download(1000);
        assert_eq!(exchange.read_answer(200), 0);
        assert_eq!(exchange.head_bytes(), 63);
        assert_eq!(exchange.read_answer(100), 37);
        assert_eq!(exchange.read_answer(963), 963);
        assert_eq!(exchange.answer_bytes(), 0);
    }
}
