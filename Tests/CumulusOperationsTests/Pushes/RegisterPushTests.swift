// Addresses at which devices are woken: whose they are, how long they count, and what goes with a
// user.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RegisterPushTests: ShareTesting {
    let bed: ShareTestBed

    init() throws { bed = try ShareTestBed() }

    private func credential(_ name: String, _ token: Bytes) throws -> Credential {
        _ = try store.run(
            WriteRequest(AddToken(token, user: name), caller: .administrator)
        ).get()
        let digest = Sessions.digest(of: token)
        let session = try #require(try Sessions.find(digest, now: store.now, in: store.reader))
        return Credential(session, epoch: store.state.accountsVersion)
    }

    private func register(
        _ address: PushAddress,
        _ caller: Caller,
        _ credential: Credential?
    ) throws -> Result<RegisterPush.Outcome, ServiceError> {
        let asker = Asker(scope: store.scope, caller: caller, credential: credential)
        return try store.run(
            WriteRequest(RegisterPush(address, device: caller.device), for: asker)
        )
    }

    private func end(
        _ change: EndPushes,
        _ caller: Caller
    ) throws -> Result<Int, ServiceError> {
        try store.run(WriteRequest(change, for: Asker(scope: store.scope, caller: caller)))
    }

    private func listed(_ user: Caller) throws -> [StoredPush] {
        try Pushes.all(of: user.user, in: store.scopeNumber(), now: store.now, store.reader)
    }

    private func found() throws -> Pushes.Found {
        try Pushes.all(in: store.scopeNumber(), now: store.now, store.reader)
    }

    private func address(_ number: Int, label: String = "") -> PushAddress {
        .fcm(token: "device-\(number)", label: label)
    }

    /// The commit of a record that Bob saves.
    private func saved(_ name: String) throws -> Dot {
        let outcome = try store.save([SaveItem(name, ["n": .int64(1)])], by: bob)
        return try #require(outcome.dots.first)
    }

    @Test func anAddressIsKeptAsItIs() throws {
        let addresses: [PushAddress] = [
            .apns(
                deviceToken: Bytes(0..<32),
                topic: "com.example.a",
                isSandbox: true,
                label: "iPad"
            ),
            .webPush(
                endpoint: "https://push.example.com/x",
                publicKey: Bytes(repeating: 4, count: 65),
                secret: Bytes(0..<16)
            ),
            address(1),
        ]
        for address in addresses {
            let push = StoredPush(
                user: "_u",
                address,
                device: [1, 2],
                session: Bytes(repeating: 9, count: 32),
                registered: 1_700_000_000_000
            )
            #expect(try StoredPush(key: push.key, value: push.value) == push)
            #expect(throws: MalformedBytes.self) {
                try StoredPush(key: push.key, value: push.value + [0])
            }
            for count in 0..<push.value.count {
                #expect(throws: MalformedBytes.self) {
                    try StoredPush(key: push.key, value: Bytes(push.value.prefix(count)))
                }
            }
            // The key says which address it is.
            let other = [push.key[0], Bytes(repeating: 0, count: 16)]
            #expect(throws: MalformedBytes.self) {
                try StoredPush(key: other, value: push.value)
            }
        }
        #expect(Set(addresses.map { StoredPush.ID(of: $0) }).count == 3)
    }

    @Test func toRegisterTheSameAgainChangesNothing() throws {
        let bobs = try credential("bob", [1])
        let first = try register(address(1), bob, bobs).get()
        #expect(first.isChanged)
        let again = try register(address(1), bob, bobs).get()
        #expect(!again.isChanged && again.id == first.id)
        store.now += 1
        let renamed = try register(address(1, label: "phone"), bob, bobs).get()
        #expect(renamed.isChanged && renamed.id == first.id)
        #expect(try listed(bob).map(\.address.label) == ["phone"])
        #expect(try listed(carol).isEmpty)
    }

    /// What was there before is covered by the mark, and what comes later is not.
    @Test func theMarkBeginsWithTheRegistration() throws {
        let bobs = try credential("bob", [1])
        let before = try saved("a")
        let id = try register(address(1), bob, bobs).get().id
        let after = try saved("b")
        let marker = StoredPush.marker(of: id, of: bob.user)
        let number = try store.scopeNumber()
        let runs = try store.reader.runs(of: number)
        let marks = runs.whole(try store.reader.readMarks(of: marker, in: number).vector)
        #expect(marks.covers(before) && !marks.covers(after))
    }

    @Test func onlyUsersRegisterAndOthersEndNothing() throws {
        let bobs = try credential("bob", [1])
        for (caller, credential) in [
            (Caller.anonymous, nil), (.administrator, nil), (bob, nil),
        ] as [(Caller, Credential?)] {
            guard case .failure = try register(address(1), caller, credential) else {
                return #expect(Bool(false))
            }
        }
        let id = try register(address(1), bob, bobs).get().id
        #expect(try end(EndPushes(id), carol).get() == 0)
        #expect(try end(EndPushes(nil), carol).get() == 0)
        guard case .failure(let error) = try end(EndPushes(id, of: "bob"), carol) else {
            return #expect(Bool(false))
        }
        #expect(error.code == .permissionFailure)
        #expect(try listed(bob).count == 1)
        #expect(try end(EndPushes(nil, of: "bob"), .administrator).get() == 1)
        #expect(try listed(bob).isEmpty)
        #expect(try end(EndPushes(id), bob).get() == 0)
    }

    @Test func anAddressEndsWithItsSession() throws {
        let (one, two) = (try credential("bob", [1]), try credential("bob", [2]))
        _ = try register(address(1), bob, one).get()
        store.now += 1
        _ = try register(address(2), bob, two).get()
        #expect(try found().valid.count == 2)
        let digest = try #require(one.session?.digest)
        _ = try store.run(
            WriteRequest(RevokeSession(digest: digest, user: "bob"), caller: .administrator)
        ).get()
        #expect(try listed(bob).map(\.address) == [address(2)])
        #expect(try found().valid.map(\.address) == [address(2)])
        #expect(try found().asleep.map(\.address) == [address(1)])
        // The next registration makes room.
        _ = try register(address(3), bob, two).get()
        #expect(try store.reader.pushes(in: store.scopeNumber(), of: bob.user).count == 2)
    }

    /// Once every member knows that an address has ended, nothing is left of it.
    @Test func nothingIsLeftOfAnEndedAddress() throws {
        let bobs = try credential("bob", [1])
        let id = try register(address(1), bob, bobs).get().id
        let kept = try register(address(2), bob, bobs).get().id
        let number = try store.scopeNumber()
        let early = try store.reader.vector(of: number)
        #expect(try end(EndPushes(id), bob).get() == 1)
        // A mark that comes late is one of an ended address, too.
        let late = StoredPush.marker(of: StoredPush.ID(of: address(3)), of: bob.user)
        let mark = Commit.Register(
            namespace: late.namespace,
            key: late.key,
            value: ReadMarks().value
        )
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try ScopeRegisters(of: number).set([mark], &transaction)
        }
        func left() throws -> [Int] {
            try EndedPushes.namespaces.map { try store.reader.registerRows(number, $0).count }
        }
        #expect(try left() == [2, 3])
        try forgetEnded(early, in: number)
        #expect(try left() == [2, 3])
        try forgetEnded(try store.reader.vector(of: number), in: number)
        #expect(try left() == [1, 1])
        #expect(try listed(bob).map(\.id) == [kept])
        let marker = StoredPush.marker(of: kept, of: bob.user)
        #expect(try !store.reader.readMarks(of: marker, in: number).vector.isEmpty)
    }

    private func forgetEnded(_ stable: VersionVector, in number: ScopeNumber) throws {
        let ended = EndedPushes(in: number, stable: stable)
        for namespace in EndedPushes.namespaces {
            var last: Bytes?
            repeat {
                let found = try ended.find(
                    in: namespace,
                    after: last,
                    limit: 1,
                    store.reader
                )
                try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                    try ended.drop(found.keys, of: namespace, &transaction)
                }
                last = found.last
            } while last != nil
        }
    }

    /// A node that hears of an address before it hears of the session looks again.
    @Test func aSessionRaisesTheVersion() throws {
        let first = store.state.pushesVersion
        _ = try credential("bob", [1])
        #expect(store.state.pushesVersion > first)
    }

    @Test func aFurtherAddressEndsTheOldest() throws {
        let bobs = try credential("bob", [1])
        for number in 0...RegisterPush.mostPerUser {
            _ = try register(address(number), bob, bobs).get()
            store.now += 1
        }
        let listed = try listed(bob)
        #expect(listed.count == RegisterPush.mostPerUser)
        #expect(listed.first?.address == address(1))
        #expect(listed.last?.address == address(RegisterPush.mostPerUser))
    }

    @Test func aDeviceIsPushedToForTheLastUser() throws {
        let (bobs, carols) = (try credential("bob", [1]), try credential("carol", [2]))
        _ = try register(address(1), bob, bobs).get()
        store.now += 1
        _ = try register(address(1), carol, carols).get()
        let found = try found()
        #expect(found.valid.map(\.user) == [carol.user])
        #expect(found.over.map(\.user) == [bob.user])
        let number = try store.scopeNumber()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try Pushes.end(found.over, in: number, &transaction)
        }
        #expect(try listed(bob).isEmpty && listed(carol).count == 1)
        // One that was registered anew meanwhile stays.
        store.now += 1
        _ = try register(address(1), bob, bobs).get()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try Pushes.end(found.over, in: number, &transaction)
        }
        #expect(try listed(bob).count == 1)
    }

    @Test func aDeletedUserTakesItsAddressesAlong() throws {
        let (bobs, carols) = (try credential("bob", [1]), try credential("carol", [2]))
        _ = try register(address(1), bob, bobs).get()
        _ = try register(address(2), carol, carols).get()
        _ = try store.run(WriteRequest(DeleteUser("bob"), caller: .administrator)).get()
        let number = try store.scopeNumber()
        for deletion in try DeletedUsers.page(after: nil, limit: 100, in: store.reader) {
            let traces = UserTraces(of: deletion, in: store.scope.container, number)
            let now = store.now
            var turn = UserTraces.Turn.more
            #expect(try !traces.isEmpty(store.reader))
            while turn != .done, turn != .waits {
                try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                    turn = try traces.delete(now: now, &transaction)
                }
            }
            #expect(try traces.isEmpty(store.reader))
        }
        #expect(try store.reader.registers(number, StoredPush.namespace).count == 1)
        #expect(try listed(carol).count == 1)
    }

    /// Runners of a node look again when an address changes, whichever way that came.
    @Test func eachChangeRaisesTheVersion() throws {
        let bobs = try credential("bob", [1])
        let first = store.state.pushesVersion
        let id = try register(address(1), bob, bobs).get().id
        let second = store.state.pushesVersion
        #expect(second > first)
        _ = try register(address(1), bob, bobs).get()
        #expect(store.state.pushesVersion == second)
        #expect(try end(EndPushes(id), bob).get() == 1)
        #expect(store.state.pushesVersion > second)
    }

    @Test func addressesWaitForAllMembers() throws {
        let bobs = try credential("bob", [1])
        let other = Bytes(repeating: 0x41, count: 16)
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try Members.enter(other, endpoint: "a:1", in: &transaction)
        }
        guard case .failure(let error) = try register(address(1), bob, bobs) else {
            return #expect(Bool(false))
        }
        #expect(error.code == .serviceUnavailable)
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try Feature.announce(other, in: &transaction)
        }
        #expect(try register(address(1), bob, bobs).get().isChanged)
    }
}
