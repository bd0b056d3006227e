// Usage: Diary ENDPOINT TOKEN PHOTO FOLDER
//
// Writes a diary on a server, with a photograph and a long text; the folder is for files. Prints a
// line for each step, and ends with an error if one failed.

import Foundation

let arguments = CommandLine.arguments
guard arguments.count == 5 else {
    print("usage: Diary ENDPOINT TOKEN PHOTO FOLDER")
    exit(64)
}
// A step that waits for news must not wait for ever.
Task {
    try await Task.sleep(for: .seconds(120))
    print("it takes too long")
    exit(1)
}

let folder = URL(filePath: arguments[4])
let novel = folder.appending(path: "novel.txt")
let sentence = "It was a dark and stormy night, and nothing happened. "
try Data(String(repeating: sentence, count: 50_000).utf8).write(to: novel)

let diary = Diary(endpoint: arguments[1], token: arguments[2], folder: folder)
print(try await diary.save())
print(try await diary.fetch())
print(try await diary.query())
print(try await diary.follow())
print("photograph:", try await diary.send(URL(filePath: arguments[3])))
print("text:", try await diary.send(novel, isText: true))
await diary.close()
