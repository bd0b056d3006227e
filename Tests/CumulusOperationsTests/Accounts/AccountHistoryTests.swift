// Random histories of accounts on two or three nodes that hear of each other in any order: a caller
// who was shut out stays out, on each node from the moment it hears of that, and all nodes agree in
// the end.
//
// Each rule is taken away once, to see that the checks notice. A history of 40 steps takes a few
// milliseconds.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct AccountHistoryTests {
    @Test func nobodyComesBack() throws {
        for seed in 1...200 {
            var history = try AccountHistory(seed: UInt64(seed), broken: nil)
            let problems = try history.run()
            #expect(problems.isEmpty, "seed \(seed): \(problems)")
        }
    }

    @Test(arguments: AccountHistory.Rule.allCases) func everyRuleIsNeeded(
        rule: AccountHistory.Rule
    ) throws {
        let isNoticed = try (1...500).contains { seed in
            var history = try AccountHistory(seed: UInt64(seed), broken: rule)
            let problems = try history.run()
            return problems.contains { $0.hasPrefix(rule.check) }
        }
        #expect(isNoticed)
    }
}

/// One history; it ends with the first problem.
struct AccountHistory {
    /// What makes the checks hold; named after what is done instead when it is broken.
    enum Rule: CaseIterable {
        /// A session doesn't know its password.
        case version
        /// A revocation can be unset.
        case unset
        /// The newest state of a user stands, and not the greatest number.
        case number
        /// The newest password stands, also over an operator's.
        case `operator`
        /// Tokens are kept by name only.
        case ids
        /// The last to register a name has it.
        case first

        /// The check that notices.
        var check: String {
            switch self {
            case .version, .unset: "A1"
            case .number: "A3"
            case .operator: "A5"
            case .ids: "A6"
            case .first: "first"
            }
        }

        var registers: Set<String> {
            switch self {
            case .version, .ids: []
            case .unset: ["revoked"]
            case .number: ["state"]
            case .operator: ["password"]
            case .first: ["user"]
            }
        }
    }

    /// What was done at a node, by the dot of its commit.
    private enum Event {
        case password(Bytes, isReset: Bool)
        case opened(digest: Bytes, password: Bytes)
        case revoked(digest: Bytes)
        case state(UInt64)
        case registered(id: Bytes)
        case touched
        case token
    }

    private struct Node {
        let store: TestStore
        /// The commits that it has heard of.
        var heard: Set<Dot> = []
    }

    private let broken: Rule?
    private var dice: SeededGenerator
    private var nodes: [Node] = []
    private var events: [Dot: Event] = [:]
    /// What each commit's origin had heard of.
    private var known: [Dot: Set<Dot>] = [:]
    /// The password that each session was opened with, and whose tokens led to one name.
    private var opened: [Bytes: Bytes] = [:]
    private var tokens: [Bytes: Bytes] = [:]
    private var count: UInt8 = 0

    private static let owner = Bytes(repeating: 0xEE, count: 16)
    private static let first = Bytes(repeating: 0xF1, count: 32)
    private static let stolen = Bytes(repeating: 0xF2, count: 32)
    private static let namespaces = [
        "user", "state", "password", "token", "session", "revoked",
    ]

    init(seed: UInt64, broken: Rule?) throws {
        self.broken = broken
        dice = SeededGenerator(seed: seed)
        let count = Int.random(in: 2...3, using: &dice)
        for number in 0..<count {
            let store = try TestStore(seed: seed &* 8 &+ UInt64(number))
            store.breakRegisters(broken?.registers ?? [])
            // The commit that made its container.
            let made = Dot(store.state.incarnation, 1)
            nodes.append(Node(store: store, heard: [made]))
        }
        try perform(.addUser(name: "owner", id: Self.owner), at: 0, .token)
        try setPassword(Self.first, at: 0)
        for number in 1..<count { try exchange(from: 0, to: number, most: .max) }
    }

    mutating func run() throws -> [String] {
        for _ in 0..<40 {
            let number = Int.random(in: nodes.indices, using: &dice)
            nodes[number].store.now += Int64.random(in: 0...3, using: &dice)
            let changed = try step(at: number)
            let problems = try check(changed)
            if !problems.isEmpty { return problems }
        }
        // Twice: what one hands on may have come last.
        for _ in 0..<2 {
            for from in nodes.indices {
                for to in nodes.indices where to != from {
                    try exchange(from: from, to: to, most: .max)
                }
            }
        }
        return try nodes.indices.flatMap { try check($0) } + checkEnd()
    }

    // MARK: Steps

    /// Returns the node whose store it changed.
    private mutating func step(at number: Int) throws -> Int {
        let roll = Int.random(in: 0..<100, using: &dice)
        switch roll {
        case ..<15: try changePassword(at: number)
        case ..<20: try setPassword(next(0xAA), at: number)
        case ..<35: try open(at: number)
        case ..<41: try touch(at: number)
        case ..<49: try revoke(at: number)
        case ..<57: try changeState(at: number)
        case ..<64: try registerOrAddToken(at: number)
        default:
            let others = nodes.indices.filter { $0 != number }
            let to = others[Int.random(in: others.indices, using: &dice)]
            if roll < 94 {
                try exchange(
                    from: number,
                    to: to,
                    most: Int.random(in: 1...4, using: &dice)
                )
            } else {
                try join(from: number, to: to)
            }
            return to
        }
        return number
    }

    private mutating func next(_ kind: UInt8) -> Bytes {
        count &+= 1
        return Bytes(repeating: kind, count: 30) + [count, kind]
    }

    private static func hashed(_ hash: Bytes) -> HashedPassword {
        HashedPassword(salt: [1], hash: hash)
    }

    /// The owner knows the password; a thief knows the first one, and what a thief set.
    private mutating func changePassword(at number: Int) throws {
        guard let (proof, password) = try proof(at: number) else { return }
        let isThief = Int.random(in: 0..<10, using: &dice) < 3
        if isThief, password != Self.first, password != Self.stolen { return }
        let new = isThief ? Self.stolen : next(0x0F)
        let digest = next(0x5E)
        let session = NewSession(digest: digest)
        let (store, now) = (nodes[number].store, nodes[number].store.now)
        let ticket = next(0x71)
        // The user who changes it has signed in.
        guard
            try perform(
                .account(.signIn(proof, NewSession(digest: ticket))),
                at: number,
                .opened(
                    digest: ticket,
                    password: password
                )
            ) != nil, let found = try Sessions.find(ticket, now: now, in: store.reader)
        else { return }
        let credential = Credential(found, epoch: store.state.accountsVersion)
        let change = AccountChange.changePassword(Self.hashed(new), proof, session)
        let event = Event.password(new, isReset: false)
        if try perform(.account(change), at: number, event, credential) != nil {
            opened[digest] = new
        }
    }

    private mutating func setPassword(_ password: Bytes, at number: Int) throws {
        let reset = AccountChange.resetPassword(Self.hashed(password), user: "owner")
        try perform(.account(reset), at: number, .password(password, isReset: true))
    }

    private mutating func open(at number: Int) throws {
        guard let (proof, password) = try proof(at: number) else { return }
        let token = next(0x5E)
        let digest = Sessions.digest(of: token)
        let operation =
            broken == .version
            ? WriteRequest.Operation.addToken(token, user: "owner")
            : .account(.signIn(proof, NewSession(digest: digest)))
        try perform(operation, at: number, .opened(digest: digest, password: password))
    }

    /// A label or an expiry is written anew.
    private mutating func touch(at number: Int) throws {
        guard let digest = anySession(), let value = try register("token", digest, at: number)
        else { return }
        var registers = [Commit.Register(namespace: "token", key: [digest], value: value)]
        if broken == .unset {
            registers.append(Commit.Register(namespace: "revoked", key: [digest], value: nil))
        }
        try write(registers, at: number, .touched)
    }

    private mutating func revoke(at number: Int) throws {
        guard let digest = anySession() else { return }
        let change = AccountChange.revoke(digest: digest, user: "owner")
        try perform(.account(change), at: number, .revoked(digest: digest))
    }

    private mutating func changeState(at number: Int) throws {
        let state = try state(at: number)
        let isDisabled = Bool.random(using: &dice)
        let change = AccountChange.setDisabled(isDisabled, user: "owner")
        let next = isDisabled && state % 2 == 1 ? state + 2 : state + 1
        try perform(.account(change), at: number, .state(next))
    }

    private mutating func registerOrAddToken(at number: Int) throws {
        guard let user = try Users.find("alice", in: nodes[number].store.reader) else {
            let id = next(0xA0)
            let register = AccountChange.register(
                name: "alice",
                id: id,
                Self.hashed(id),
                NewSession(digest: next(0xA1))
            )
            try perform(.account(register), at: number, .registered(id: id))
            return
        }
        let token = next(0xA2)
        let digest = Sessions.digest(of: token)
        if broken == .ids {
            let value = Bytes("alice".utf8)
            let register = Commit.Register(namespace: "token", key: [digest], value: value)
            try write([register], at: number, .token)
        } else {
            try perform(.addToken(token, user: "alice"), at: number, .token)
        }
        tokens[digest] = user.id
    }

    // MARK: Commits

    /// Returns the dot of its commit; nil if it changed nothing.
    @discardableResult
    private mutating func perform(
        _ operation: WriteRequest.Operation,
        at number: Int,
        _ event: Event,
        _ credential: Credential? = nil
    ) throws -> Dot? {
        let store = nodes[number].store
        let caller = credential == nil ? Caller.administrator : .alice
        _ = try store.run(
            WriteRequest(operation, scope: .cluster, caller: caller, credential: credential)
        )
        return try note(event, at: number)
    }

    private mutating func write(
        _ registers: [Commit.Register],
        at number: Int,
        _ event: Event
    ) throws {
        try nodes[number].store.change {
            (transaction: inout WriteTransaction) throws(EngineError) in
            let scope = try transaction.makeScope(.cluster)
            _ = try transaction.perform(
                registers.map(Commit.Operation.register),
                in: scope,
                zone: nil,
                author: Author()
            )
        }
        _ = try note(event, at: number)
    }

    /// Remembers a commit that was just made.
    private mutating func note(_ event: Event, at number: Int) throws -> Dot? {
        let store = nodes[number].store
        let incarnation = store.state.incarnation
        guard let seq = try runs(of: store)[incarnation]?.seq else { return nil }
        let dot = Dot(incarnation, seq)
        guard !nodes[number].heard.contains(dot) else { return nil }
        known[dot] = nodes[number].heard
        nodes[number].heard.insert(dot)
        events[dot] = event
        if case .opened(let digest, let password) = event { opened[digest] = password }
        return dot
    }

    private func scope(_ store: TestStore) throws -> ScopeNumber {
        try #require(try store.reader.scope(.cluster))
    }

    private func runs(of store: TestStore) throws -> Runs {
        try store.reader.runs(of: scope(store))
    }

    /// Hands on commits that the other one may apply, in an order of chance.
    private mutating func exchange(from: Int, to: Int, most: Int) throws {
        let (donor, taker) = (nodes[from].store, nodes[to].store)
        let (source, target) = (try scope(donor), try scope(taker))
        var left = most
        var isMoved = true
        while left > 0, isMoved {
            isMoved = false
            let rows = try runs(of: donor).rows.sorted { $0.key.value < $1.key.value }
            for (incarnation, row) in rows.shuffled(using: &dice) where left > 0 {
                let seq = (try runs(of: taker)[incarnation]?.seq ?? 0) + 1
                guard seq <= row.seq else { continue }
                let dot = Dot(incarnation, seq)
                let bytes = try #require(try donor.reader.get(.commit(source, dot)))
                let commit = try Commit(bytes)
                let verdict = CommitIntake.judge(
                    commit,
                    bytes: bytes,
                    after: try runs(of: taker),
                    clock: .init(now: .max / 2)
                )
                guard verdict == .apply else { continue }
                try taker.change { (transaction: inout WriteTransaction) throws(EngineError) in
                    try transaction.apply(commit, bytes: bytes, in: target)
                }
                nodes[to].heard.insert(dot)
                left -= 1
                isMoved = true
            }
        }
    }

    /// Takes the other's registers, as a state sync does before the commits come again.
    private mutating func join(from: Int, to: Int) throws {
        let (donor, taker) = (nodes[from].store, nodes[to].store)
        let (source, target) = (try scope(donor), try scope(taker))
        for namespace in Self.namespaces.shuffled(using: &dice) {
            let rows = try donor.reader.registerRows(source, namespace)
            try taker.change { (transaction: inout WriteTransaction) throws(EngineError) in
                for (key, row) in rows {
                    try transaction.join(row, into: namespace, key, of: target)
                }
            }
        }
        nodes[to].heard.formUnion(nodes[from].heard)
    }

    // MARK: What a node holds

    private mutating func anySession() -> Bytes? {
        let all = opened.keys.sorted { $0.lexicographicallyPrecedes($1) }
        return all.randomElement(using: &dice)
    }

    private func row(_ namespace: String, _ key: Bytes, at number: Int) throws -> RegisterRow? {
        let store = nodes[number].store
        return try store.reader.register(scope(store), namespace, [key])
    }

    private func register(_ namespace: String, _ key: Bytes, at number: Int) throws -> Bytes? {
        try row(namespace, key, at: number)?.value
    }

    private func state(at number: Int) throws -> UInt64 {
        let value = try register("state", Self.owner, at: number) ?? []
        return value.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The hash is the end of the register.
    private func password(at number: Int) throws -> Bytes? {
        try register("password", Self.owner, at: number).map { Bytes($0.suffix(32)) }
    }

    private func proof(
        at number: Int
    ) throws -> (proof: AccountChange.Proof, password: Bytes)? {
        let store = nodes[number].store
        guard let user = try Users.find("owner", in: store.reader),
            let row = try row("password", Self.owner, at: number),
            let password = try password(at: number)
        else { return nil }
        return (AccountChange.Proof(user: user, password: row.stamp.dot), password)
    }

    // MARK: Checks

    /// What must hold at every step.
    ///
    /// A1: a node lets in no session that was opened with another password than its present one,
    /// that was revoked as far as it has heard, or of a user whom it holds as disabled. A6: nothing
    /// of one of two users of a name leads to the other one.
    private func check(_ number: Int) throws -> [String] {
        var problems: [String] = []
        let store = nodes[number].store
        let (isDisabled, present) = (try state(at: number) % 2 == 1, try password(at: number))
        var revoked: Set<Bytes> = []
        for dot in nodes[number].heard {
            if case .revoked(let digest) = events[dot] { revoked.insert(digest) }
        }
        for (digest, password) in opened {
            guard try Sessions.find(digest, now: store.now, in: store.reader) != nil else {
                continue
            }
            if isDisabled || revoked.contains(digest) || password != present {
                problems.append("A1: node \(number) lets in \(digest.hex)")
            }
        }
        for (digest, id) in tokens {
            let found = try Sessions.find(digest, now: store.now, in: store.reader)
            if let found, found.user.id != id {
                problems.append("A6: a token of \(id.hex) leads to \(found.user.id.hex)")
            }
        }
        return problems
    }

    private func checkEnd() throws -> [String] {
        var problems: [String] = []
        for namespace in Self.namespaces {
            let rows = try nodes.map { node in
                try node.store.reader.registerRows(scope(node.store), namespace).map {
                    Held(key: $0.key, row: $0.row)
                }
            }
            if rows.contains(where: { $0 != rows[0] }) { problems.append("A2: \(namespace)") }
        }
        return try problems + checkState() + checkPassword() + checkName()
    }

    private struct Held: Equatable {
        var key: [Bytes]
        var row: RegisterRow
    }

    /// A3: who was disabled is active only if somebody enabled it with a greater number.
    private func checkState() throws -> [String] {
        guard try state(at: 0) % 2 == 0 else { return [] }
        let numbers = events.values.compactMap { event -> UInt64? in
            if case .state(let number) = event { number } else { nil }
        }
        let enabled = numbers.filter { $0 % 2 == 0 }.max() ?? 0
        let isBack = numbers.contains { $0 % 2 == 1 && $0 > enabled }
        return isBack ? ["A3: a user is active that nobody enabled"] : []
    }

    /// A5: what an operator set stands, unless somebody changed it who had heard of it.
    private func checkPassword() throws -> [String] {
        let present = try password(at: 0)
        return events.compactMap { dot, event in
            guard case .password(let value, isReset: true) = event, value != present else {
                return nil
            }
            let isReplaced = events.contains { other, event in
                guard case .password(_, let isReset) = event, other != dot else { return false }
                // Of two resets that did not hear of each other either one stands.
                if isReset { return known[dot]?.contains(other) != true }
                return known[other]?.contains(dot) == true
            }
            return isReplaced ? nil : "A5: an operator's password was undone"
        }
    }

    /// Who registered a name first has it.
    private func checkName() throws -> [String] {
        let store = nodes[0].store
        var first: (stamp: Stamp, id: Bytes)?
        for (dot, event) in events {
            guard case .registered(let id) = event,
                let bytes = try store.reader.get(.commit(scope(store), dot))
            else { continue }
            let stamp = try Commit(bytes).stamp
            if first.map({ stamp < $0.stamp }) ?? true { first = (stamp, id) }
        }
        let holder = try Users.find("alice", in: store.reader)?.id
        return holder == first?.id ? [] : ["first: a name was taken from its first holder"]
    }
}
