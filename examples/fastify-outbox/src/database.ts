/**
 * The service's database: orders, what is to be said of them (`outbox`), and what has been heard (`inbox`, for consumers). The API is
 * better-sqlite3's.
 */
import Database from 'libsql'

export type { Database } from 'libsql'

const SCHEMA = `
  create table if not exists orders (
    id text primary key,
    customer text not null,
    cents integer not null check (cents > 0)
  );
  create table if not exists outbox (
    id integer primary key autoincrement,
    topic text not null,
    key text not null,
    value text not null,
    sent integer not null default 0
  );
  create index if not exists outbox_unsent on outbox (id) where sent = 0;
  create table if not exists inbox (
    message_id text primary key
  ) without rowid;
  create table if not exists shipments (
    order_id text not null,
    customer text not null
  );
`

/** Opens a file, or `:memory:`, and makes the tables that are missing. */
export function openDatabase(path: string): Database.Database {
  const db = new Database(path)
  // Readers and the one writer do not wait for each other, and processes may share the file.
  db.exec('pragma journal_mode = wal; pragma busy_timeout = 5000;')
  db.exec(SCHEMA)
  return db
}
