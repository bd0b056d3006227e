// A user's read marks at one node after the other. A node that has applied a mark's commit, or
// taken the state of such a node, must hold the mark, even if others were made at the same time.
//
// Held by a `RoamingFeed`, which keeps missing marks as faults.

import CumulusModel
import CumulusOperations
import CumulusStorage

struct RoamingMarks {
    private struct Mark {
        let dot: Dot
        let ids: [FeedNotification.ID]
        let vector: VersionVector
    }

    private var marks: [Mark] = []
    private var dice: SeededGenerator

    /// - Parameter seed: Seeds dice of its own, so that the device fetches at the same times.
    init(seed: UInt64) {
        dice = SeededGenerator(seed: seed &+ 0x4EAD)
    }

    /// Now and then marks some ids at a node, and perhaps everything that the device was told.
    ///
    /// Returns whether it marked any.
    mutating func step(
        upTo token: FeedToken?,
        by caller: Caller,
        at store: TestStore
    ) throws -> Bool {
        guard Int.random(in: 0..<4, using: &dice) == 0 else { return false }
        let ids = (0..<Int.random(in: 1...3, using: &dice)).map { _ in
            FeedNotification.ID(bytes: (0..<16).map { _ in .random(in: 0...255, using: &dice) })
        }
        let marksAll = Int.random(in: 0..<4, using: &dice) == 0
        let request = MarkRead(ids, upTo: marksAll ? token : nil)
        let scope = try store.scopeNumber()
        var dots: [Dot] = []
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let asker = Asker(scope: store.scope, caller: caller)
            let outcome = try request.run(for: asker, in: scope, &transaction)
            dots = (try? outcome.get().dots) ?? []
        }
        guard let dot = dots.first else { return false }
        let vector = request.token?.base ?? VersionVector()
        marks.append(Mark(dot: dot, ids: ids, vector: vector))
        return true
    }

    /// The marks that a node must hold but does not, in words.
    func missing(of user: String, at store: TestStore) throws -> [String] {
        let scope = try store.scopeNumber()
        let vector = try store.reader.vector(of: scope)
        let held = try store.reader.readMarks(of: ReadMarks.Reader(user), in: scope)
        return marks.filter { vector.covers($0.dot) }.filter { mark in
            !mark.ids.allSatisfy { held.holds($0) } || !held.vector.covers(mark.vector)
        }.map { "what \(user) marked as read by \($0.dot) is unread again" }
    }
}
