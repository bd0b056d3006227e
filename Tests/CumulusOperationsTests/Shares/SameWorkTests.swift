// A node does the same work for things that don't exist and for things that the caller may not know
// of. Work is counted in rows and their bytes, since a clock would tell little in a test.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SameWorkTests: ShareTesting {
    let bed: ShareTestBed
    private let engine = CountingEngine()

    private struct Work: Hashable {
        var looks: Int
        var bytes: Int
        /// The code and the text of the answer.
        var answer: String
    }

    init() throws {
        bed = try ShareTestBed(engine: engine)
        try bed.save("a", by: owner)
        try bed.shareZoneAccepted(with: [bed.member(bob)], by: bob)
    }

    private func work(_ ask: () throws -> String) throws -> Work {
        let (looks, bytes) = (engine.looks, engine.bytesSeen)
        let answer = try ask()
        return Work(
            looks: engine.looks - looks,
            bytes: engine.bytesSeen - bytes,
            answer: answer
        )
    }

    private func text(of body: () throws -> Void) throws -> String {
        do {
            try body()
            return "done"
        } catch let error as ServiceError {
            return "\(error.code): \(error.message)"
        } catch ReadFailure.service(let error) {
            return "\(error.code): \(error.message)"
        }
    }

    /// One row says that a zone is not for the caller, whether or not the zone exists.
    @Test func zonesThatAreThereAndNot() throws {
        try store.modify(ModifyZones(saving: ["y"]), by: owner)
        let strangers = "_" + String(repeating: "0", count: 32)
        let places = [
            // The zones are shared with another user, not shared, not existing, and of a user who
            // doesn't exist.
            (ShareTestBed.zone, owner.user), ("y", owner.user), ("x", owner.user),
            ("y", strangers),
        ]
        for keeps in [false, true] {
            let directory = ZoneDirectory()
            let scope = try store.scopeNumber()
            let works = try places.flatMap { name, user in
                try (0..<2).map { _ in
                    try work {
                        let zone = ZoneAddress(name: name, owner: user)
                        let database = DatabaseID(kind: .shared, owner: dave.user)
                        let found =
                            keeps
                            ? try directory.find(zone, in: database, of: scope, by: dave, reader)
                            : try reader.find(zone, in: database, of: scope, by: dave)
                        return found == nil ? "nothing" : "a zone"
                    }
                }
            }
            #expect(Set(works).count == 1, "\(works)")
            #expect(works.first?.looks == 1 && works.first?.answer == "nothing")
        }
    }

    private var reader: ReadTransaction { store.reader }

    /// The URLs are guesses; some of them are nearly right.
    @Test func urlsThatLeadNowhere() throws {
        let real = try bed.shareID()
        var guesses = (0..<8).map { ShareID(bytes: Bytes(repeating: UInt8($0 * 31), count: 16)) }
        for bit in 0..<8 {
            var near = real.bytes
            near[15] ^= 1 << bit
            guesses.append(ShareID(bytes: near))
        }
        for caller in [dave, bob, owner] {
            let works = try guesses.map { guess in
                try work { try text { _ = try bed.metadata(of: guess, by: caller) } }
            }
            #expect(Set(works).count == 1, "\(works)")
            #expect(works.first?.answer.hasPrefix("unknownItem") == true)
        }
        let known = try work { try text { _ = try bed.metadata(of: real, by: bob) } }
        #expect(known.answer == "done" && known.looks > 1)
    }

    /// A handle that no user has costs as much as a handle of a user who doesn't want to be found.
    @Test func handlesOfNobodyAndOfTheHidden() throws {
        func change(_ change: some AccountChange) throws {
            let request = WriteRequest(change, caller: .administrator)
            _ = try store.run(request).get()
        }
        for (name, isDiscoverable) in [("bob", false), ("carol", true), ("dave", true)] {
            let profile = People.Profile(displayName: name, isDiscoverable: isDiscoverable)
            try change(SetProfile(profile, user: name))
            let handle = try Handle(.email, Bytes("\(name)@example.org".utf8))
            try change(SetHandle(handle, user: name, isHeld: true))
        }
        try change(SetDisabled(true, user: "carol"))
        let looks = try ["bob", "carol", "eve"].map { name in
            try work {
                let handle = try Handle(.email, Bytes("\(name)@example.org".utf8))
                let found = try LookUpParticipant(handle: handle).run(
                    in: store.scope.container,
                    reader
                )
                return found.user.isEmpty ? "nobody" : found.user
            }
        }
        #expect(Set(looks.map(\.looks)).count == 1, "\(looks)")
        #expect(looks.map(\.answer) == ["nobody", "nobody", "nobody"])
        let dave = try Handle(.email, Bytes("dave@example.org".utf8))
        let found = try LookUpParticipant(handle: dave).run(in: store.scope.container, reader)
        #expect(found.user == self.dave.user)
    }
}
