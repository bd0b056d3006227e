// Runs a courier for each device to which this node pushes.
//
// `cumulusd` and tests make it. Four times a second it looks whether the operator's file, addresses
// or members have changed, and whether this node pushes (`PushDuty`).

import CumulusModel
import CumulusNode
package import Logging
import Synchronization

package struct PushRunner: Sendable {
    private static let interval: Int64 = 250
    /// How often addresses are read whose sessions this node has not heard of, in milliseconds.
    private static let rereading: Int64 = 2_000
    /// The most requests that are open to one origin of a service.
    private static let mostOpen = 64
    /// Addresses that one turn of the writer ends.
    private static let endedAtOnce = 1_000
    /// Addresses are read again after so many times the time that it took, at least.
    private static let rest: Int64 = 10

    private let door: any PushDoor
    private let setups: @Sendable () -> [PushSetup]
    private let client: @Sendable (PushSetup) throws -> any PushClient
    private let meter: PushMeter
    private let turns = WebhookTurns(mostOpen: PushRunner.mostOpen)
    private let lapses = Lapses()
    private let logger: Logger

    /// Addresses whose couriers have ended since the session is over.
    private final class Lapses: Sendable {
        private let targets = Mutex<Set<PushAddresses.Target>>([])

        func add(_ target: PushAddresses.Target) {
            targets.withLock { _ = $0.insert(target) }
        }

        func take() -> Set<PushAddresses.Target> {
            targets.withLock { targets in
                defer { targets = [] }
                return targets
            }
        }
    }

    /// - Parameters:
    ///   - setups: The services of the operator's file, as it is now.
    ///   - client: How a service is reached.
    package init(
        _ door: any PushDoor,
        setups: @escaping @Sendable () -> [PushSetup],
        client: @escaping @Sendable (PushSetup) throws -> any PushClient,
        meter: PushMeter,
        logger: Logger
    ) {
        self.door = door
        self.setups = setups
        self.client = client
        self.meter = meter
        self.logger = logger
    }

    /// What runs, and what is known.
    private struct State {
        var duty = PushDuty()
        var known = PushAddresses()
        /// When addresses were read last, and how long that took, in milliseconds.
        var read: Int64?
        var cost: Int64 = 0
        /// What couriers were last fitted to.
        var pushed = false
        var setups: [PushSetup] = []
        /// Whether they are to be fitted again.
        var hasNews = false
        var senders: [PushSetup: PushSender] = [:]
        var couriers: [PushAddresses.Target: (sender: PushSender, task: Task<Void, Never>)] = [:]
        /// Services that have no key for an address; they are in the log already.
        var missing: Set<String> = []
    }

    /// Pushes until the task is cancelled.
    package func run() async {
        var state = State()
        while !Task.isCancelled {
            let members = try? await door.pushMembers()
            let pushes = state.duty.decide(members, now: milliseconds)
            for target in lapses.take() {
                state.couriers.removeValue(forKey: target)?.task.cancel()
                state.known.expire()
            }
            if pushes { await look(&state) }
            let setups = setups()
            if state.hasNews || state.pushed != pushes || state.setups != setups {
                (state.hasNews, state.pushed, state.setups) = (false, pushes, setups)
                await adjust(&state, to: pushes ? wanted(&state) : [:])
            }
            try? await door.sleep(PushRunner.interval)
        }
        for courier in state.couriers.values { courier.task.cancel() }
        for courier in state.couriers.values { await courier.task.value }
        for sender in state.senders.values { await sender.close() }
    }

    private var milliseconds: Int64 { Int64(door.nanoseconds() / 1_000_000) }

    /// The devices to push to, each with its service.
    private func wanted(_ state: inout State) -> [PushAddresses.Target: PushSender] {
        let senders = senders(&state)
        // One that could not be made is tried again.
        if senders.count < state.setups.count { state.hasNews = true }
        var wanted: [PushAddresses.Target: PushSender] = [:]
        for target in state.known.targets {
            let (address, container) = (target.address, target.scope.container)
            if let sender = senders.first(where: { $0.setup.pushes(to: address, in: container) }) {
                wanted[target] = sender
            } else {
                tellMissing(address.service, container, &state)
            }
        }
        return wanted
    }

    /// Reads the addresses, if they may have changed.
    private func look(_ state: inout State) async {
        let start = milliseconds
        if let read = state.read {
            let least = state.known.isComplete ? 0 : PushRunner.rereading
            if start - read < max(least, PushRunner.rest * state.cost) { return }
        }
        // If the store can't be read now, what was known before is used.
        guard let known = try? await door.pushAddresses(after: state.known),
            known.reads != state.known.reads
        else { return }
        state.known = known
        (state.read, state.cost) = (start, milliseconds - start)
        state.hasNews = true
        if !known.over.isEmpty {
            try? await door.end(Array(known.over.prefix(PushRunner.endedAtOnce)))
        }
    }

    private func tellMissing(
        _ service: PushService,
        _ container: String,
        _ state: inout State
    ) {
        guard state.missing.insert("\(service.name) \(container)").inserted else { return }
        logger.warning(
            "devices are registered that no push service of the file is set up for",
            metadata: ["service": "\(service.name)", "container": "\(container)"]
        )
    }

    /// The senders of the services that are set up; those that are missing are made.
    private func senders(_ state: inout State) -> [PushSender] {
        state.setups.compactMap { setup in
            if let known = state.senders[setup] { return known }
            do {
                let sender = PushSender(setup, try client(setup))
                state.senders[setup] = sender
                return sender
            } catch {
                let name = setup.entry.service.name
                if state.missing.insert(name).inserted {
                    logger.error(
                        "a push service can't be used",
                        metadata: ["service": "\(name)", "why": "\(error)"]
                    )
                }
                return nil
            }
        }
    }

    /// Ends couriers whose device or service has changed, and starts the missing ones.
    ///
    /// It waits for no courier: one may be in line at a service that does not answer.
    private func adjust(
        _ state: inout State,
        to wanted: [PushAddresses.Target: PushSender]
    ) async {
        let ended = state.couriers.filter { wanted[$0.key] !== $0.value.sender }
        for (target, courier) in ended {
            courier.task.cancel()
            state.couriers[target] = nil
        }
        await closeUnused(&state)
        for (target, sender) in wanted where state.couriers[target] == nil {
            let courier = PushCourier(
                target: target,
                sender: sender,
                door: door,
                meter: meter,
                turns: turns,
                logger: logger,
                onLapse: lapses.add
            )
            let former = ended[target]?.task
            let task = Task {
                await former?.value
                await courier.run()
            }
            state.couriers[target] = (sender, task)
        }
    }

    /// Ends the connections to services that the file does not name any more.
    private func closeUnused(_ state: inout State) async {
        let named = Set(state.setups)
        for (setup, sender) in state.senders where !named.contains(setup) {
            guard !state.couriers.values.contains(where: { $0.sender === sender }) else { continue }
            state.senders[setup] = nil
            await sender.close()
        }
    }
}
