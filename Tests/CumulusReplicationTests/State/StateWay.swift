// One store takes over another's state, as a node does that lacks too much of a peer's log.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

/// What changed, or everything.
enum StateWay: CaseIterable {
    case delta
    case full
}

extension TestStore {
    /// Takes over another store's state, or the first pages of it; `meanwhile` runs before the end.
    ///
    /// - Parameter breaking: The connection breaks with each page, and the next one goes on.
    func takeState(
        of other: TestStore,
        _ way: StateWay,
        pages limit: Int = .max,
        breaking: Bool = false,
        _ meanwhile: () throws -> Void = {}
    ) throws {
        let scope = try scopeNumber()
        let snapshot = ReadTransaction(try other.engine.snapshot(), reach: .disk)
        let source = StateSource(snapshot, scope: try other.scopeNumber())
        let offer = try source.offer(to: vector(), isLarge: { _ in way == .full })
        var intake = try StateIntake(offer, above: vector(), clock: .init(now: now))
        var begun: StateSync?
        try change { (transaction: inout WriteTransaction) throws(EngineError) in
            begun = try StateSync(offer, in: scope, &transaction)
        }
        var sync = try #require(begun)
        var pages = StatePages(source, offer)
        var taken = 0
        while taken < limit, let page = try pages.next(byteLimit: 1) {
            let read = try intake.read(page)
            try change { (transaction: inout WriteTransaction) throws(EngineError) in
                try sync.take(read, &transaction)
            }
            taken += 1
            if breaking { pages = StatePages(source, offer, from: intake.position) }
        }
        if taken == limit { return }
        try intake.checkEnd()
        try meanwhile()
        var isMerged = false
        while !isMerged {
            try change { (transaction: inout WriteTransaction) throws(EngineError) in
                isMerged = try sync.merge(recordLimit: 1, &transaction)
            }
        }
        try change { (transaction: inout WriteTransaction) throws(EngineError) in
            #expect(try sync.finish(&transaction))
            try StagedZones.drop(&transaction)
        }
    }
}
