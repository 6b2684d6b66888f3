mod building;
mod connections;
mod files;
mod properties;
