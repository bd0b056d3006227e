// The room for what callers of gRPC hold: who has it when it is full, and what counts.

import CumulusModel
import CumulusNode
import Testing

@testable import CumulusGRPC

@Suite struct GRPCRoomTests {
    private final class Nobody: GRPCStreamCount {
        func taken(_ byteCount: Int) {}
    }

    private let room: GRPCRoom
    private let ada: Bytes = [1, 1, 1, 1]
    private let bob: Bytes = [2, 2, 2, 2]

    init() {
        var limits = Limits.standard
        limits.nodeUnansweredBytes = 1_000
        room = GRPCRoom(limits)
    }

    @Test func aFullRoomIsShared() {
        #expect(room.promise(900, to: ada))
        #expect(!room.promise(200, to: ada))
        // A caller that holds nothing gets in; then each has a part of half of it.
        #expect(room.promise(200, to: bob))
        #expect(room.promise(50, to: bob))
        #expect(!room.promise(1, to: bob))
        room.release(900, of: ada)
        #expect(room.promise(700, to: bob))
    }

    /// An answer counts once: while the door gathers it, and until it is on the wire.
    @Test func answersCountUntilTheyAreSent() {
        let stream = room.enter(Nobody(), from: ada, SharedRestraint())
        #expect(room.mayGather(for: stream))
        room.gathered(1_200, for: stream)
        #expect(room.keptBytes == 1_200 && room.isCrowded)
        room.wrote(1_205, of: stream, from: ada)
        #expect(room.keptBytes == 1_205)
        // A caller that takes no answers gets no more of them, and its requests wait.
        #expect(!room.mayGather(for: stream) && !room.promise(1, to: ada))
        #expect(room.promise(1, to: bob))
        room.leave(stream)
        room.sent(1_205, of: ada)
        #expect(room.keptBytes == 1 && !room.isCrowded)
    }

    /// In a full room one answer at a time is gathered, so each of them gets on.
    @Test func answersThatAreGatheredDoNotHoldUpEachOther() {
        let first = room.enter(Nobody(), from: ada, SharedRestraint())
        let second = room.enter(Nobody(), from: bob, SharedRestraint())
        room.gathered(600, for: first)
        room.gathered(600, for: second)
        #expect(room.mayGather(for: first) && !room.mayGather(for: second))
        room.gathered(600, for: first)
        #expect(room.mayGather(for: first))
        room.wrote(1_200, of: first, from: ada)
        #expect(room.mayGather(for: second) && !room.mayGather(for: first))
        room.leave(second)
        #expect(room.keptBytes == 1_200)
    }

    @Test func anAnswerIsReservedOnce() {
        let stream = room.enter(Nobody(), from: ada, SharedRestraint())
        #expect(room.reserve(800, for: stream) && !room.reserve(800, for: stream))
        room.wrote(805, of: stream, from: ada)
        #expect(room.keptBytes == 805)
        room.sent(805, of: ada)
        #expect(room.reserve(800, for: stream))
        room.leave(stream)
        #expect(room.keptBytes == 0 && room.restraint(of: stream) == nil)
    }

    @Test func sizesAreReadFromPieces() {
        var sizes = GRPCMessageSizes()
        #expect(sizes.announced(in: [0, 0, 0] as Bytes) == 0 && sizes.isInside)
        #expect(sizes.announced(in: [0, 3, 1, 2] as Bytes) == 8 && sizes.isInside)
        #expect(sizes.announced(in: [3, 0, 0, 0, 1, 0] as Bytes) == 261 && sizes.isInside)
        #expect(sizes.largest == 256)
    }
}
