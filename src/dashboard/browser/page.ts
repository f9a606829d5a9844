export const page: number = 1
