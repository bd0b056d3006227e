// The timeline and what the user can do with it: what a view controller is in an app with a screen.
//
// Made by `Main`.

import CloudKit
import ExampleTerminal

@MainActor
final class TimelineScreen {
    private let terminal: Terminal
    private let controller: TimelineController
    private var manager: CloudKitManager { return controller.manager }
    /// The names of users who were found, by the names of their records.
    private var people: [String: String] = [:]

    init(_ terminal: Terminal, _ controller: TimelineController) {
        self.terminal = terminal
        self.controller = controller
    }

    var commands: [ExampleCommand] { return timelineCommands + cloudCommands }

    // MARK: - The timeline

    private var timelineCommands: [ExampleCommand] {
        return [
            ExampleCommand("list", "Shows the timeline of this device, the newest first.") { _ in
                self.showTimeline()
            },
            ExampleCommand("write TEXT", "Adds an entry, and syncs.") {
                let text = try $0.word(0, "the text")
                try await self.sync { self.controller.write(text, completion: $0) }
            },
            ExampleCommand("comment ENTRY TEXT", "Adds a comment to an entry, and syncs.") {
                let (entry, text) = (try self.entry($0), try $0.word(1, "the text"))
                try await self.sync {
                    self.controller.comment(text, on: entry, completion: $0)
                }
            },
            ExampleCommand("delete ENTRY", "Deletes an entry of yours with its comments.") {
                let entry = try self.entry($0)
                try await self.finish { self.controller.delete(entry, completion: $0) }
                self.terminal.say("Deleted '\(entry.text)'")
            },
            ExampleCommand("sync", "Pushes what the server lacks, fetches what is new.") { _ in
                try await self.sync { self.controller.sync(completion: $0) }
            },
            ExampleCommand("airplane on | off", "Writes without a connection, or with one.") {
                switch try $0.word(0, "on or off") {
                case "on": self.controller.isInAirplaneMode = true
                case "off": self.controller.isInAirplaneMode = false
                default: throw StepProblem("write airplane on, or airplane off")
                }
            },
        ]
    }

    private func showTimeline() {
        for entry in controller.entries {
            let signs = [
                controller.isMine(entry) ? "yours" : nil, entry.isSynced ? nil : "not synced",
            ]
            let sign = signs.compactMap { $0 }.joined(separator: ", ")
            terminal.say(sign.isEmpty ? entry.text : "\(entry.text) (\(sign))")
            for comment in controller.comments(on: entry) {
                terminal.say("  - \(comment.text)\(comment.isSynced ? "" : " (not synced)")")
            }
        }
        let count = controller.entries.count
        terminal.say(count == 1 ? "1 entry" : "\(count) entries")
    }

    private func sync(_ call: (@escaping (SyncOutcome) -> Void) -> Void) async throws {
        let outcome: SyncOutcome = await withCheckedContinuation { done in
            call { done.resume(returning: $0) }
        }
        if let error = outcome.error { throw problem(error) }
        let fetched = outcome.fetchedEntries.count + outcome.fetchedComments.count
        let left = controller.unsyncedCount
        terminal.say("Pushed \(outcome.pushed), fetched \(fetched), not synced \(left)")
    }

    // MARK: - The cloud

    private var cloudCommands: [ExampleCommand] {
        return [
            ExampleCommand("mine", "Shows your entries, as the server has them.") { _ in
                try await self.showRecords {
                    self.manager.fetchCurrentUserRecords(
                        ofType: Entry.recordType,
                        completion: $0
                    )
                }
            },
            ExampleCommand("range DAYS-AGO [DAYS-AGO]", "Shows entries between two days.") {
                guard let first = try $0.number(0) else {
                    throw StepProblem("the number of days is missing")
                }
                let last = try $0.number(1) ?? 0
                try await self.showRange(from: first, to: last)
            },
            ExampleCommand("subscribe", "Asks for notifications of the timeline.") { _ in
                try await self.finish { self.controller.subscribe(completion: $0) }
                self.terminal.say("Subscribed")
            },
            ExampleCommand("unsubscribe", "Ends them.") { _ in
                try await self.finish { self.controller.unsubscribe(completion: $0) }
                self.terminal.say("Not subscribed any more")
            },
            ExampleCommand("subscriptions", "Lists your subscriptions.") { _ in
                try await self.showSubscriptions()
            },
            ExampleCommand("discoverable", "Lets others find you.") { _ in
                var isGranted = false
                try await self.finish { done in
                    self.manager.requestDiscoverabilityPermission { granted, error in
                        isGranted = granted
                        done(error)
                    }
                }
                self.terminal.say(isGranted ? "Others can find you" : "Others can't find you")
            },
            ExampleCommand("find EMAIL...", "Finds users by their addresses.") {
                try await self.find($0)
            },
            ExampleCommand("author ENTRY", "Says who wrote an entry.") {
                let entry = try self.entry($0)
                self.terminal.say("'\(entry.text)' is by \(await self.author(of: entry))")
            },
        ]
    }

    private func showRecords(
        _ call: (@escaping ([CKRecord], Error?) -> Void) -> Void
    ) async throws {
        var found: [CKRecord] = []
        try await finish { done in
            call { records, error in
                found = records
                done(error)
            }
        }
        for entry in found.compactMap({ Entry(record: $0) }) { terminal.say(entry.text) }
        terminal.say(found.count == 1 ? "1 entry" : "\(found.count) entries")
    }

    private func showRange(from first: Int, to last: Int) async throws {
        let day = 24 * 60 * 60.0
        // A minute for clocks that differ.
        let end =
            last == 0
            ? Date(timeIntervalSinceNow: 60) : Date(timeIntervalSinceNow: -Double(last) * day)
        try await showRecords {
            self.manager.fetchRecords(
                ofType: Entry.recordType,
                from: Date(timeIntervalSinceNow: -Double(first) * day),
                to: end,
                completion: $0
            )
        }
    }

    private func showSubscriptions() async throws {
        var found: [CKSubscription] = []
        try await finish { done in
            self.manager.fetchSubscriptions { subscriptions, error in
                found = subscriptions
                done(error)
            }
        }
        for subscription in found { terminal.say(subscription.subscriptionID) }
        terminal.say(found.count == 1 ? "1 subscription" : "\(found.count) subscriptions")
    }

    private func find(_ addresses: [String]) async throws {
        _ = try addresses.word(0, "an address")
        var found: [CKUserIdentity] = []
        try await finish { done in
            self.manager.discoverUsers(withEmailAddresses: addresses) { users, error in
                found = users
                done(error)
            }
        }
        for user in found {
            if let id = user.userRecordID { people[id.recordName] = name(of: user) }
            terminal.say("\(user.lookupInfo?.emailAddress ?? "?") is \(name(of: user))")
        }
        terminal.say(found.count == 1 ? "Found 1 user" : "Found \(found.count) users")
    }

    private func author(of entry: Entry) async -> String {
        if controller.isMine(entry) { return "you" }
        guard let author = entry.author else { return "somebody" }
        if let name = people[author] { return name }
        let user: CKUserIdentity? = await withCheckedContinuation { done in
            manager.discoverUser(withRecordID: CKRecord.ID(recordName: author)) {
                done.resume(returning: $0)
            }
        }
        return user.map { name(of: $0) } ?? "somebody who was not found"
    }

    private func name(of user: CKUserIdentity) -> String {
        guard let components = user.nameComponents else { return "somebody without a name" }
        return [components.givenName, components.familyName].compactMap { $0 }
            .joined(separator: " ")
    }

    // MARK: - Finding, and failing

    /// The entry whose text is a command's first word.
    private func entry(_ words: [String]) throws -> Entry {
        let text = try words.word(0, "the entry")
        guard let entry = controller.entries.first(where: { $0.text == text }) else {
            throw StepProblem("the timeline has no entry '\(text)'")
        }
        return entry
    }

    /// Waits for a call's completion.
    private func finish(_ call: (@escaping (Error?) -> Void) -> Void) async throws {
        let error: Error? = await withCheckedContinuation { done in
            call { done.resume(returning: $0) }
        }
        if let error = error { throw problem(error) }
    }

    private func problem(_ error: Error) -> StepProblem {
        switch (error as? CKError)?.code {
        case .notAuthenticated?:
            return StepProblem("you are signed out: the timeline can be read, not written")
        case .permissionFailure?: return StepProblem("only its author may delete an entry")
        case .networkFailure?, .networkUnavailable?:
            return StepProblem("the server can't be reached; what you wrote is kept")
        default: return StepProblem(error.localizedDescription)
        }
    }
}
