// `cumulus subscription`: save, list and delete what a user wants to be told of.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal

struct SubscriptionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscription",
        abstract: "Save, list and delete what a user wants to be told of.",
        discussion: help(
            "cumulus subscription save notes --zone Notes --content-available",
            "cumulus subscription list --json",
            "cumulus subscription delete notes"
        ),
        subcommands: [Save.self, List.self, Delete.self]
    )
}

extension SubscriptionCommand {
    struct Save: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Save a subscription, in place of the user's one with that id.",
            discussion: help(
                "cumulus subscription save large --query City --where \"population > 1000000\" "
                    + "--on create --alert-key NEW_CITY --alert-arg name --keys name,population",
                "cumulus subscription save notes --zone Notes --content-available",
                "cumulus subscription save orders --query Order --on create --webhook orders",
                "cumulus subscription save everything",
                note: """
                    With --query it watches the records of a type that satisfy --where, in all \
                    zones or in --zone; predicates are those of 'cumulus query'. With --zone alone \
                    it watches a custom zone, and otherwise all custom zones of the private \
                    database; --type then leaves only the records of one type. A public database \
                    takes --query only.
                    """
            )
        )

        enum Change: String, CaseIterable, ExpressibleByArgument {
            case create
            case update
            case delete

            var option: Subscription.Options {
                switch self {
                case .create: .firesOnRecordCreation
                case .update: .firesOnRecordUpdate
                case .delete: .firesOnRecordDeletion
                }
            }
        }

        @Argument(help: "Id of the subscription.") var id: String
        @Option(help: "Watch the records of this type.") var query: String?
        @Option(name: .customLong("where"), help: "What they satisfy; all if left out.")
        var format: String?
        @Option(help: "Zone that is watched.") var zone: String?
        @Option(help: "Watch the records of one type of a zone or a database.") var type: String?
        @Option(help: "A change to fire on, with --query; each one if left out.")
        var on: [Change] = []
        @Flag(help: "Delete the subscription when it has fired.") var once = false
        @Flag(help: "Allow what CloudKit has not: OR and tests for nil.") var extensions = false
        @OptionGroup(title: "Notification") var notification: NotificationOptions
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            let ofQueries = [
                ("--where", format != nil), ("--on", !on.isEmpty), ("--once", once),
                ("--extensions", extensions), ("--keys", notification.keys != nil),
            ]
            if query == nil, let (name, _) = ofQueries.first(where: \.1) {
                throw ValidationError("\(name) is for a subscription to records: give --query.")
            }
            if query != nil, type != nil {
                throw ValidationError("--query names the type already: leave out --type.")
            }
            if notification.webhook == "" {
                throw ValidationError("--webhook needs a name: give one, or leave it out.")
            }
            do {
                _ = try subscription()
            } catch {
                throw ValidationError("--where: \(error.message)")
            }
        }

        func subscription() throws(ServiceError) -> Subscription {
            let zoneID = zone.map { RecordZone.ID(zoneName: $0) }
            let kind: Subscription.Kind
            if let query {
                let predicate = try Query.Predicate(format: format ?? "TRUEPREDICATE")
                kind = .query(recordType: query, predicate: predicate, zone: zoneID)
            } else if let zoneID {
                kind = .zone(zoneID, recordType: type)
            } else {
                kind = .database(recordType: type)
            }
            var subscription = Subscription(
                id: id,
                kind: kind,
                notificationInfo: notification.info
            )
            if !on.isEmpty { subscription.options = Subscription.Options(on.map(\.option)) }
            if once { subscription.options.insert(.firesOnce) }
            subscription.allowsExtensions = extensions
            return subscription
        }

        func run() async throws {
            let subscription = try subscription()
            try await connection.withDatabase(replicas: replicas) { database in
                do {
                    _ = try await database.save(subscription)
                } catch var error as ServiceError where error.isOfTwin {
                    error.message += ": use that one, or delete it first"
                    throw error
                } catch {
                    throw try MissingIndex.advised(error, by: connection.user.scope)
                }
            }
            try output.show([subscription])
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the user's subscriptions of a database.",
            discussion: help(
                "cumulus subscription list",
                "cumulus subscription list --database public --json"
            )
        )

        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let subscriptions = try await connection.withDatabase { database in
                try await database.allSubscriptions()
            }
            try output.show(subscriptions)
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete subscriptions.",
            discussion: help("cumulus subscription delete large notes")
        )

        @Argument(help: "Ids of the subscriptions.") var ids: [String]
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let results = try await connection.withDatabase(replicas: replicas) { database in
                try await database.modifySubscriptions(saving: [], deleting: ids).deleteResults
            }
            let deleted = ids.filter { results[$0]?.error == nil }
            if !deleted.isEmpty {
                try output.show(
                    deleted,
                    columns: ["DELETED"],
                    json: { ["subscriptionID": .string($0)] },
                    row: { [$0] }
                )
            }
            try refuse(ids.map { ($0, results[$0]?.error) })
        }
    }
}

/// The content of notifications.
struct NotificationOptions: ParsableArguments {
    @Option(help: "Text of the alert.") var alert: String?
    @Option(help: "Key of the alert's text in the app's strings.") var alertKey: String?
    @Option(help: "A field whose value stands in that text.") var alertArg: [String] = []
    @Option(help: "Title of the alert.") var title: String?
    @Option(help: "Key of the title in the app's strings.") var titleKey: String?
    @Option(help: "A field whose value stands in that title.") var titleArg: [String] = []
    @Option(help: "Line below the title.") var subtitle: String?
    @Option(help: "Key of that line in the app's strings.") var subtitleKey: String?
    @Option(help: "A field whose value stands in that line.") var subtitleArg: [String] = []
    @Option(help: "Key of the title of the alert's button.") var actionKey: String?
    @Option(help: "Image that the app shows while it starts.") var launchImage: String?
    @Option(help: "Sound that is played.") var sound: String?
    @Flag(help: "Add one to the number on the app's icon.") var badge = false
    @Flag(help: "Wake the app to fetch what changed.") var contentAvailable = false
    @Flag(help: "Let the app change the notification before it is shown.")
    var mutableContent = false
    @Option(help: "Names the actions that the app offers with it.") var category: String?
    @Option(help: "A later notification with the same id takes its place.") var collapseID: String?
    @Option(help: "Up to 3 fields that it carries, with commas; with --query.") var keys: String?
    @Option(help: "Webhook that is told too, by the name that an operator gave it.")
    var webhook: String?

    /// nil if no option is given.
    var info: Subscription.NotificationInfo? {
        var info = Subscription.NotificationInfo()
        (info.alertBody, info.title, info.subtitle) = (alert, title, subtitle)
        info.alertLocalizationKey = alertKey
        info.alertLocalizationArgs = alertArg
        info.titleLocalizationKey = titleKey
        info.titleLocalizationArgs = titleArg
        info.subtitleLocalizationKey = subtitleKey
        info.subtitleLocalizationArgs = subtitleArg
        info.alertActionLocalizationKey = actionKey
        info.alertLaunchImage = launchImage
        info.soundName = sound
        info.shouldBadge = badge
        info.shouldSendContentAvailable = contentAvailable
        info.shouldSendMutableContent = mutableContent
        info.category = category
        info.collapseIDKey = collapseID
        info.webhook = webhook
        info.desiredKeys = keys?.split(separator: ",").map(String.init) ?? []
        return info == Subscription.NotificationInfo() ? nil : info
    }
}

extension OutputOptions {
    fileprivate func show(_ subscriptions: [Subscription]) throws {
        try show(
            subscriptions,
            columns: ["ID", "WATCHES", "FIRES ON", "WEBHOOK"],
            json: \.json,
            row: { subscription in
                [
                    subscription.id, subscription.watched,
                    subscription.changes.joined(separator: ", "),
                    subscription.notificationInfo?.webhook ?? "",
                ]
            }
        )
    }
}

extension Subscription {
    /// The watched records or zone, in one line.
    fileprivate var watched: String {
        switch kind {
        case .query(let type, let predicate, let zone):
            "\(type) where \(predicate)" + (zone.map { " in zone \($0)" } ?? "")
        case .zone(let zone, let type):
            (type.map { "\($0) in " } ?? "") + "zone \(zone)"
        case .database(let type): (type.map { "\($0) in " } ?? "") + "all custom zones"
        }
    }

    /// The changes that it fires on, in words.
    fileprivate var changes: [String] {
        let known: [(Options, String)] = [
            (.firesOnRecordCreation, "create"), (.firesOnRecordUpdate, "update"),
            (.firesOnRecordDeletion, "delete"), (.firesOnce, "once"),
        ]
        return known.filter { options.contains($0.0) }.map(\.1)
    }

    fileprivate var json: JSON {
        var members = [JSON.Member("subscriptionID", .string(id))]
        func add(_ name: String, _ text: String?) {
            if let text { members.append(JSON.Member(name, .string(text))) }
        }
        switch kind {
        case .query(let type, let predicate, let zone):
            add("subscriptionType", "query")
            add("recordType", type)
            add("predicate", "\(predicate)")
            add("zoneName", zone?.zoneName)
            members.append(JSON.Member("firesOn", .array(changes.map { .string($0) })))
            members.append(JSON.Member("allowsExtensions", .bool(allowsExtensions)))
        case .zone(let zone, let type):
            add("subscriptionType", "zone")
            add("zoneName", zone.zoneName)
            add("recordType", type)
        case .database(let type):
            add("subscriptionType", "database")
            add("recordType", type)
        }
        if let info = notificationInfo {
            members.append(JSON.Member("notificationInfo", info.json))
        }
        return .object(members)
    }
}

extension Subscription.NotificationInfo {
    /// The parts that are set, by CloudKit's names.
    var json: JSON {
        var members = Self.texts.compactMap { part in
            self[keyPath: part.path].map { JSON.Member(part.name, .string($0)) }
        }
        for part in Self.lists where !self[keyPath: part.path].isEmpty {
            let names = self[keyPath: part.path].map { JSON.string($0) }
            members.append(JSON.Member(part.name, .array(names)))
        }
        for part in Self.flags where self[keyPath: part.path] {
            members.append(JSON.Member(part.name, .bool(true)))
        }
        return .object(members)
    }
}

extension ServiceError {
    /// Another subscription asks for the same; no reason tells it from other refusals.
    fileprivate var isOfTwin: Bool {
        code == .serverRejectedRequest && message.hasPrefix("subscription is duplicate of ")
    }
}
