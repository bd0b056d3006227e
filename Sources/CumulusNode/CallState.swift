// One call in progress: what the session must remember about it until its stream ends.
//
// Values owned by `ClientSession`, changed on its loop only.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

struct CallState {
    let token: CallToken
    /// Bytes of the request, charged to the connection until the call ends.
    let requestBytes: Int
    /// Bytes of answer that the caller has room for; may go below zero by one message.
    var credit: Int
    /// Messages that wait for credit, and whether they are all.
    var waiting: [Bytes] = []
    var isComplete = false
    var list: ListState?

    var waitingBytes: Int { waiting.reduce(0) { $0 + $1.count } }
}

/// A list that is being streamed: where it goes on, in the snapshot in which it began.
struct ListState {
    let request: ListRecords
    let zone: FoundZone
    let snapshot: ReadTransaction
    var next: Bytes?
    /// A page is being read now.
    var isReading = false
}
