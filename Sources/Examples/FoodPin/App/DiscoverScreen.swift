// The list of restaurants and what the user can do with it: what view controllers are in an app
// with a screen.
//
// Made by `Main`.

import CloudKit
import ExampleTerminal

@MainActor
struct DiscoverScreen {
    private let terminal: Terminal
    private let model = DiscoverModel()

    init(_ terminal: Terminal) {
        self.terminal = terminal
    }

    /// Says who is signed in.
    func start() async {
        do {
            switch try await CKContainer.default().accountStatus() {
            case .available: break
            case .noAccount: terminal.say("Signed out: restaurants can be discovered, not added")
            default: terminal.say("Not connected: the server can't be reached")
            }
        } catch {
            terminal.say("Not connected: \(error.localizedDescription)")
        }
    }

    // MARK: - Commands

    var commands: [ExampleCommand] {
        [
            ExampleCommand("discover", "Pulls to refresh: fetches all, the newest first.") { _ in
                var new = 0
                try await telling { new = try await model.refresh() }
                showList()
                terminal.say("\(count(model.restaurants.count, "restaurant")), \(new) new")
            },
            ExampleCommand("list", "Shows the list again, with the images loaded so far.") { _ in
                try await fetchList()
                showList()
                terminal.say(count(model.restaurants.count, "restaurant"))
            },
            ExampleCommand("image NAME", "Loads and shows the image of a restaurant.") {
                _ = try await showImage(of: try await restaurant($0))
            },
            ExampleCommand("images", "Loads all images that are not loaded, one by one.") { _ in
                try await showImages()
            },
            ExampleCommand("open NAME FILE", "Writes the image of a restaurant into a file.") {
                try await open(try await restaurant($0), try $0.word(1, "the file"))
            },
            ExampleCommand(
                "add FILE NAME TYPE [LOCATION]",
                "Adds a restaurant with a JPEG or PNG file; needs the role Critic."
            ) { try await add($0) },
            ExampleCommand("delete NAME", "Deletes a restaurant that you added.") {
                let restaurant = try await restaurant($0)
                try await telling("only the user who added a restaurant may delete it") {
                    try await model.delete(restaurant)
                }
                terminal.say("Deleted \(restaurant.name)")
            },
        ]
    }

    // MARK: - Showing

    private func showList() {
        let rows = model.restaurants.enumerated().map { index, restaurant -> [String] in
            let picture = model.images.cachedImage(of: restaurant).flatMap {
                try? Picture(file: $0)
            }
            return [
                "\(index + 1). \(restaurant.name)", restaurant.type, restaurant.location,
                picture?.description ?? "image not loaded",
            ]
        }
        terminal.show(Table(rows))
    }

    private func showImages() async throws {
        try await fetchList()
        var (loaded, cached) = (0, 0)
        for restaurant in model.restaurants {
            switch try await showImage(of: restaurant)?.source {
            case .server: loaded += 1
            case .cache: cached += 1
            case nil: break
            }
        }
        terminal.say("\(count(loaded, "image")) loaded, \(cached) from the cache")
    }

    private func showImage(
        of restaurant: Restaurant
    ) async throws -> (url: URL, source: ImageLoader.Source)? {
        var image: (url: URL, source: ImageLoader.Source)?
        try await telling { image = try await model.images.image(of: restaurant) }
        guard let image else {
            terminal.say("\(restaurant.name): no image")
            return nil
        }
        let picture = try Picture(file: image.url)
        let source = image.source == .cache ? "from the cache" : "loaded"
        terminal.say("\(restaurant.name): \(picture.description), \(source)")
        return image
    }

    private func open(_ restaurant: Restaurant, _ path: String) async throws {
        guard let image = try await showImage(of: restaurant) else {
            throw StepProblem("\(restaurant.name) has no image")
        }
        try Data(contentsOf: image.url).write(to: URL(filePath: path))
        terminal.say("Wrote \(path)")
    }

    // MARK: - Changing

    private func add(_ words: [String]) async throws {
        let image = URL(filePath: try words.word(0, "the file"))
        let (name, type) = (try words.word(1, "the name"), try words.word(2, "the type"))
        let location = words.count > 3 ? words[3] : ""
        let picture = try Picture(file: image)
        let refusal = """
            to add restaurants needs the role Critic; an operator gives it with 'cumulus role \
            assign USER Critic'
            """
        try await telling(refusal) {
            try await model.add(name: name, type: type, location: location, image: image)
        }
        terminal.say("Added \(name): \(picture.description)")
    }

    // MARK: - Finding, and failing

    /// Fetches the list if that was not done yet.
    private func fetchList() async throws {
        guard !model.isFetched else { return }
        try await telling { _ = try await model.refresh() }
    }

    /// The restaurant whose name is a command's first word.
    private func restaurant(_ words: [String]) async throws -> Restaurant {
        let name = try words.word(0, "the name")
        try await fetchList()
        guard let restaurant = model.restaurants.first(where: { $0.name == name }) else {
            throw StepProblem("the list has no restaurant '\(name)'; try discover")
        }
        return restaurant
    }

    private func count(_ number: Int, _ noun: String) -> String {
        number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
    }

    /// Runs a call; its errors say what they mean to a user of this app.
    ///
    /// - Parameter refusal: The message if the user may not do it.
    private func telling(
        _ refusal: String = "you may not see restaurants",
        _ call: () async throws -> Void
    ) async throws {
        do {
            try await call()
        } catch let error as CKError {
            switch error.code {
            case .notAuthenticated:
                throw StepProblem("you are signed out: restaurants can be discovered, not added")
            case .permissionFailure: throw StepProblem(refusal)
            case .unknownItem: throw StepProblem("the restaurant has been deleted meanwhile")
            default: throw error
            }
        }
    }
}
